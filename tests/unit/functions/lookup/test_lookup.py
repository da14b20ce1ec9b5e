"""``apply: lookup`` over SQLite: what rows get, what is asked, and what becomes of rows without a match."""

from __future__ import annotations

import contextlib
import pickle
import sqlite3
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from apache_beam.utils.timestamp import Timestamp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import Member, validity
from tests.support.media import objects
from tests.support.nodes import check_node, load_node, types_of
from tests.unit.functions.lookup.conftest import ROWS, node

CARD = {"card": "string"}
PLACE = {"card": "string", "country": "string"}


@pytest.fixture
def queries() -> Any:
    """The queries, as SQL with parameters, once a test has begun to note them."""
    noted: list[tuple[str, Any]] = []

    def note(connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.startswith("SELECT"):
            noted.append((statement, parameters))

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    yield noted
    sa.event.remove(sa.Engine, "before_cursor_execute", note)


def look(member: Member, **columns: Any) -> list[Any]:
    """Returns the first column of each row, None for null, or the code of its failure."""
    rows = len(next(iter(columns.values())))
    good, faults = run_split(member, columns, rows)
    name = next((name for name in good if not name.endswith("?")), "")
    valid = good.get(validity(name))
    values = [] if not name else good[name].tolist()
    found = iter(
        values if valid is None else [v if ok else None for v, ok in zip(values, valid, strict=True)]
    )
    return [faults[at].code if at in faults else next(found) for at in range(rows)]


def test_a_column_by_key(accounts: Path) -> None:
    described = node()
    assert types_of(accounts, CARD, described) == {"age_days": "double"}
    member = load_node(accounts, CARD, described)
    assert look(member, card=objects("a", "a")) == [3.5, 3.5]
    assert member({"card": objects("a")})["age_days"].dtype == np.float64


def test_spaces_at_the_end_of_a_key_count_where_the_database_keeps_them(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "accounts.db")) as database:
        database.executescript("CREATE TABLE accounts (card CHAR(4), age_days REAL)")
        database.executemany("INSERT INTO accounts VALUES (?, ?)", [("a", 1.0), ("a ", 2.0), ("b  ", 3.0)])
        database.commit()
    member = load_node(tmp_path, CARD, node(missing="nullify", outputs={"age_days": "double?"}))
    assert look(member, card=objects("a", "a ", "b  ", "b", "a  ")) == [1.0, 2.0, 3.0, None, None]


def test_a_key_of_several_columns_that_the_table_calls_otherwise(accounts: Path) -> None:
    described = node(
        key={"k": "card", "land": "country"},
        outputs={"again": {"from": "card", "type": "string"}, "n": {"from": "number", "type": "int32"}},
    )
    member = load_node(accounts, {"k": "string", "land": "string"}, described)
    found = member({"k": objects("b", "a", "b"), "land": objects("fr", "de", "de")})
    assert found["again"].tolist() == ["b", "a", "b"]
    assert found["n"].tolist() == [3, 1, 2]
    assert found["n"].dtype == np.int32
    listed = load_node(accounts, PLACE, node(key=["card", "country"], outputs={"number": "int64"}))
    assert look(listed, card=objects("b", "b"), country=objects("de", "it")) == [2, "key_not_found"]


def test_every_type(accounts: Path) -> None:
    outputs = {
        "age_days": "float", "is_closed": "boolean", "select": "string", "mark": "bytes", "opened": "timestamp",
        "born": "string", "limits": "array<double>", "price": "double", "small": {"from": "visits", "type": "int32"},
    }  # fmt: skip
    member = load_node(accounts, {"number": "int32"}, node(key="number", outputs=outputs))
    found = member({"number": np.array([3, 1], np.int32)})
    assert {name: values.tolist() for name, values in found.items()} == {
        "age_days": [4.0, 3.5], "is_closed": [False, False], "select": ["z", "x"], "mark": [b"", b"\x00"],
        "opened": [Timestamp(1714979289)] * 2, "born": ["2000-01-01", "2024-05-06"], "limits": [[0.5], [1.0, 2.5]],
        "price": [99.0, 12.5], "small": [9, 7],
    }  # fmt: skip
    assert (found["age_days"].dtype, found["small"].dtype) == (np.float32, np.int32)


def test_a_row_without_a_match_fails_alone_or_has_nulls(accounts: Path) -> None:
    strict = load_node(accounts, PLACE, node(key=["card", "country"], outputs={"age_days": "double?"}))
    cards, lands = objects("b", "none", "a"), objects("de", "de", "de")
    assert look(strict, card=cards, country=lands) == [None, "key_not_found", 3.5]
    described = node(key=["card", "country"], outputs={"age_days": "double?"}, missing="nullify")
    lenient = load_node(accounts, PLACE, described)
    assert look(lenient, card=cards, country=lands) == [None, None, 3.5]
    assert look(lenient, card=objects("none"), country=objects("de")) == [None]
    full = lenient({"card": objects("a"), "country": objects("de")})
    assert list(full) == ["age_days"]


def test_a_null_key_is_equal_to_nothing(accounts: Path) -> None:
    columns = {"card": objects("a", None), validity("card"): np.array([True, False])}
    strict = load_node(accounts, {"card": "string?"}, node())
    assert look(strict, **columns) == [3.5, "null_value"]
    described = node(outputs={"age_days": "double?"}, missing="nullify")
    assert look(load_node(accounts, {"card": "string?"}, described), **columns) == [3.5, None]


def test_a_null_where_a_value_is_declared_is_its_rows_error(accounts: Path) -> None:
    member = load_node(accounts, PLACE, node(key=["card", "country"]))
    assert look(member, card=objects("a", "b", "b"), country=objects("de", "de", "fr")) == [
        3.5,
        "null_value",
        4.0,
    ]


def test_a_value_of_another_type_is_its_rows_error(accounts: Path) -> None:
    member = load_node(accounts, {"number": "int64"}, node(key="number", outputs={"age_days": "int64?"}))
    _, faults = run_split(member, {"number": np.array([1, 2])}, 2)
    assert {at: fault.code for at, fault in faults.items()} == {0: "bad_output"}
    said = "declared int64?, which 'age_days' of accounts is not in this row: it holds a fraction; declare it double"
    assert said in faults[0].message
    assert "3.5" not in faults[0].message


@pytest.mark.parametrize(
    ("held", "type_", "wanted"),
    [
        (12.345, "double", 12.345),
        (1e-12, "double", 1e-12),
        (9007199254740993, "int64", 9007199254740993),
        ("2024-05-06", "timestamp", Timestamp(1714953600)),
        ("2024-05-06 07:08:09Z", "timestamp", Timestamp(1714979289)),
        ("2024-05-06 07:08:09.123456789", "timestamp", "it holds a text; declare it string"),
        ("yesterday", "timestamp", "it holds a text; declare it string"),
        (1714979289, "timestamp", "it holds a whole number; declare it int64"),
        (1714979289, "int64", 1714979289),
    ],
)
@pytest.mark.parametrize("column", ["price", "opened", "born", "country"])
def test_a_value_of_sqlite_is_as_its_file_has_it(
    accounts: Path, column: str, held: Any, type_: str, wanted: Any
) -> None:
    if column == "country" and not isinstance(held, str):
        pytest.skip("SQLite makes texts of numbers in a column that is declared TEXT")
    with contextlib.closing(sqlite3.connect(accounts / "accounts.db")) as database:
        database.execute(f"UPDATE accounts SET {column} = ? WHERE card = 'a'", [held])
        database.commit()
    member = load_node(accounts, CARD, node(outputs={"x": {"from": column, "type": type_}}))
    found, faults = run_split(member, {"card": objects("a")}, 1)
    if faults:
        assert wanted in faults[0].message
    else:
        assert found["x"].tolist() == [wanted]


def test_a_key_with_several_rows_is_refused(accounts: Path) -> None:
    member = load_node(accounts, CARD, node())
    assert look(member, card=objects("a", "b")) == [3.5, "key_not_unique"]
    assert look(member, card=objects("a", "b", "c", "a")) == [3.5, "key_not_unique", "key_not_found", 3.5]


def test_all_keys_of_a_batch_are_one_query(accounts: Path, queries: list[Any]) -> None:
    member = load_node(accounts, CARD, node())
    queries.clear()
    assert look(member, card=objects(*["a"] * 50, "c", "a")) == [3.5] * 50 + ["key_not_found", 3.5]
    ((_, parameters),) = queries
    assert [part for part in parameters if isinstance(part, str)] == ["a", "c"]
    queries.clear()
    look(member, card=objects(*map(str, range(2_500))))
    asked = [part for _, parameters in queries for part in parameters if isinstance(part, str)]
    assert (len(queries), sorted(asked)) == (3, sorted(map(str, range(2_500))))


def test_rows_are_kept_as_long_as_they_may(
    accounts: Path, queries: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    described = node(cache={"max_rows": 2, "max_age": 10}, missing="nullify", outputs={"age_days": "double?"})
    member = load_node(accounts, CARD, described)
    member._cache._clock = lambda: now[0]  # type: ignore[attr-defined]
    queries.clear()

    def asked(*cards: str) -> list[str]:
        queries.clear()
        assert look(member, card=objects(*cards)) == [3.5 if card == "a" else None for card in cards]
        return sorted(part for _, parameters in queries for part in parameters if isinstance(part, str))

    assert asked("a", "c") == ["a", "c"]
    assert asked("a", "c", "a") == []
    assert asked("d", "a") == ["d"]
    assert asked("c") == ["c"]  # the one that was used longest ago had made room
    now[0] = 10.5
    assert asked("d", "a") == ["a", "d"]


def test_what_changes_is_seen_without_a_cache(accounts: Path) -> None:
    member = load_node(accounts, CARD, node())
    assert look(member, card=objects("a")) == [3.5]
    with contextlib.closing(sqlite3.connect(accounts / "accounts.db")) as database:
        database.execute("UPDATE accounts SET age_days = 4.5 WHERE card = 'a'")
        database.commit()
    assert look(member, card=objects("a")) == [4.5]


def test_the_database_cannot_be_written_to(accounts: Path) -> None:
    member = load_node(accounts, CARD, node())
    with (
        member._connections.engine.connect() as connection,  # type: ignore[attr-defined]
        pytest.raises(sa.exc.OperationalError, match="readonly"),
    ):
        connection.execute(sa.text("DELETE FROM accounts"))


@pytest.mark.parametrize(
    ("more", "place", "words"),
    [
        ({"table": "account"}, "table", "no table 'account'; did you mean 'accounts'?"),
        ({"key": {"card": "crd"}}, "key.card", "no column 'crd'; did you mean 'card'?"),
        ({"outputs": {"age": "double"}}, "outputs.age", "has no column 'age'"),
        (
            {"outputs": {"age": {"from": "age_day", "type": "double"}}},
            "outputs.age",
            "did you mean 'age_days'?",
        ),
        ({"key": {"card": "number"}}, "key.card", "'card' is string, but 'number' of 'accounts' is INTEGER"),
    ],
)
def test_a_table_that_does_not_fit(accounts: Path, more: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(accounts, CARD, node(**more))
    (problem,) = caught.value.problems
    assert (problem.code, problem.path) == ("signature_mismatch", f"nodes.node.{place}")
    assert words in problem.message


def test_a_view_that_never_ends_is_ended(accounts: Path) -> None:
    with contextlib.closing(sqlite3.connect(accounts / "accounts.db")) as database:
        database.execute(
            "CREATE VIEW endless (card, n) AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)"
            " SELECT card, n FROM c, accounts WHERE card = 'a'"
        )
        database.commit()
    described = node(table="endless", outputs={"n": {"from": "n", "type": "int64?"}}, timeout=0.2, retries=0)
    member = load_node(accounts, CARD, described)
    assert look(member, card=objects("a")) == ["server_unreachable"]


def test_names_and_keys_are_no_sql(accounts: Path) -> None:
    with contextlib.closing(sqlite3.connect(accounts / "accounts.db")) as database:
        database.execute('CREATE TABLE "a ""table"" " ("the ""key""" TEXT, "x; DROP TABLE accounts" REAL)')
        database.execute('INSERT INTO "a ""table"" " VALUES (?, 1.5)', ("' OR 1=1 --",))
        database.commit()
    described = node(table='a "table" ', key={"card": 'the "key"'}, outputs={"x": {"type": "double"}})
    described["outputs"] = {"x": {"type": "double"}}
    with pytest.raises(InvalidEnsemble, match="has no column 'x'"):
        load_node(accounts, CARD, described)
    with contextlib.closing(sqlite3.connect(accounts / "accounts.db")) as database:
        database.execute('ALTER TABLE "a ""table"" " RENAME COLUMN "x; DROP TABLE accounts" TO x')
        database.commit()
    member = load_node(accounts, CARD, described)
    assert look(member, card=objects("' OR 1=1 --", "'", "x' OR '1'='1")) == [
        1.5,
        "key_not_found",
        "key_not_found",
    ]


def test_the_url_may_be_a_secret(accounts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_DB", f"sqlite:///{accounts}/accounts.db")
    described = node(url={"secret": "env:TEST_DB"})
    assert str(accounts).encode() not in pickle.dumps(check_node(Path("/"), CARD, described))
    assert look(load_node(Path("/"), CARD, described), card=objects("a")) == [3.5]


@pytest.mark.parametrize(
    ("secret", "code", "words"),
    [
        (None, "missing_secret", "'TEST_DB'"),
        ("hunter2", "load_failed", "not the URL of a database"),
        ("nosql://hunter2@host/db", "not_installed", "knows no database 'nosql'"),
        ("postgresql+asyncpg://u:hunter2@localhost/db", "not_installed", "pip install 'asyncpg'"),
        ("mysql://u:hunter2@localhost/db", "not_installed", "pip install 'mysqlclient'"),
        ("sqlite+aiosqlite:///x.db?token=hunter2", "not_installed", "pip install 'aiosqlite'"),
    ],
)
def test_a_secret_that_is_no_database_of_this_worker(
    monkeypatch: pytest.MonkeyPatch, secret: str | None, code: str, words: str
) -> None:
    monkeypatch.delenv("TEST_DB", raising=False)
    if secret is not None:
        monkeypatch.setenv("TEST_DB", secret)
    with pytest.raises(InvalidEnsemble, match=words) as caught:
        load_node(Path("/"), CARD, node(url={"secret": "env:TEST_DB"}))
    assert caught.value.problems[0].code == code
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_timeout_that_no_driver_is_told_of_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_DB", "mssql+pyodbc://localhost/db")
    with pytest.raises(InvalidEnsemble, match="leave 'timeout' out") as caught:
        load_node(Path("/"), CARD, node(url={"secret": "env:TEST_DB"}, timeout=3))
    assert caught.value.problems[0].path == "nodes.node.timeout"


def test_without_sqlalchemy_the_extra_is_named(accounts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("beam_ensembles.functions.lookup.")]:
        if module.rpartition(".")[2] in ("engine", "member", "table"):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(InvalidEnsemble, match=r"pip install 'beam-ensembles\[lookup\]'"):
        load_node(accounts, CARD, node())


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pairs=st.lists(
        st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(["de", "fr", "it"])),
        min_size=1,
        max_size=12,
    ),
    limit=st.integers(1, 5),
)
def test_every_row_gets_what_a_dictionary_would_give(
    accounts: Path, pairs: list[tuple[str, str]], limit: int
) -> None:
    wanted = {(row[0], row[1]): row[2] for row in ROWS}
    described = node(
        key=["card", "country"], outputs={"number": "int64"}, cache={"max_rows": 2, "max_age": 60}
    )
    member = load_node(accounts, PLACE, described)
    columns = {
        "card": objects(*(card for card, _ in pairs)),
        "country": objects(*(land for _, land in pairs)),
    }
    for _ in range(2):
        good, faults = run_split(member, columns, len(pairs), limit)
        found = iter(good["number"].tolist() if good else [])
        answers = [None if at in faults else next(found) for at in range(len(pairs))]
        assert answers == [wanted.get(pair) for pair in pairs]
