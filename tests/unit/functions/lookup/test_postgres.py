"""``apply: lookup`` in a real PostgreSQL: its types, its composite keys, and what becomes of rows when it goes away."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import Member, validity
from beam_ensembles.handlers.support import retrying
from tests.support.media import objects
from tests.support.nodes import load_node
from tests.support.patience import wait_until
from tests.support.postgres import PASSWORD, Postgres, running_postgres
from tests.unit.functions.lookup.conftest import node

ID = uuid.UUID(int=7)


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        server.execute(
            "CREATE SCHEMA sales",
            'CREATE TABLE sales."Accounts" (id uuid, country char(5), number bigint, age numeric(8, 2), '
            "is_open boolean, opened timestamptz, born date, scores double precision[], extra jsonb, mark bytea, "
            "PRIMARY KEY (country, number))",
            f"INSERT INTO sales.\"Accounts\" VALUES ('{ID}', 'de', 1, 3.5, true, '2024-05-06 09:08:09+02', "
            "'2024-05-06', '{1,2.5}', '{\"a\": 1, \"b\": [\"x\"]}', '\\x00ff')",
            "INSERT INTO sales.\"Accounts\" (country, number, is_open) VALUES ('fr', 2, false)",
            "CREATE TABLE numbers AS SELECT n, n * 2 AS twice FROM generate_series(1, 5000) AS n",
            "CREATE TABLE hidden (n bigint)",
            "CREATE FUNCTION slow(n bigint) RETURNS bigint LANGUAGE sql VOLATILE AS 'SELECT n FROM pg_sleep(3600)'",
            "CREATE VIEW slowly AS SELECT n, slow(n) AS twice FROM numbers",
            "CREATE ROLE guest LOGIN PASSWORD 'guest'",
        )
        yield server


@pytest.fixture(autouse=True)
def _url(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_DB", postgres.url())
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.05)


def loaded(inputs: dict[str, str], **more: Any) -> Member:
    return load_node(Path("/"), inputs, node(url={"secret": "env:TEST_DB"}, **more))


def numbers(**more: Any) -> Member:
    return loaded({"n": "int64"}, table="numbers", key="n", outputs={"twice": "int64"}, **more)


def test_its_types_become_columns() -> None:
    outputs = {
        "id": "string?", "age": "double?", "is_open": "boolean", "opened": "timestamp?", "born": "string?",
        "scores": "array<double>?", "extra": "row<a: int64, b: array<string>>?", "mark": "bytes?",
    }  # fmt: skip
    member = loaded(
        {"country": "string", "number": "int32"},
        table="sales.Accounts",
        key=["country", "number"],
        outputs=outputs,
    )
    found = member({"country": objects("fr", "de"), "number": np.array([2, 1], np.int32)})
    de = {name: found[name].tolist()[1] for name in outputs}
    assert de == {
        "id": str(ID), "age": 3.5, "is_open": True, "opened": Timestamp(1714979289), "born": "2024-05-06",
        "scores": [1.0, 2.5], "extra": {"a": 1, "b": ["x"]}, "mark": b"\x00\xff",
    }  # fmt: skip
    for name in outputs:
        if name != "is_open":
            assert found[validity(name)].tolist() == [False, True]
    assert found["is_open"].tolist() == [False, True]


def test_a_uuid_is_a_text_here() -> None:
    member = loaded({"id": "string"}, table="sales.Accounts", key="id", outputs={"number": "int64"})
    keys = objects(str(ID), str(ID).upper(), "no uuid", str(uuid.UUID(int=8)))
    good, faults = run_split(member, {"id": keys}, 4)
    assert good["number"].tolist() == [1, 1]
    assert [faults[at].code for at in (2, 3)] == ["key_not_found"] * 2


def test_many_keys_are_asked_for_a_thousand_at_a_time() -> None:
    keys = np.random.default_rng(0).integers(1, 6_000, 4_000)
    good, faults = run_split(numbers(), {"n": keys}, len(keys))
    assert set(faults) == set(np.flatnonzero(keys > 5_000).tolist())
    assert good["twice"].tolist() == (keys[keys <= 5_000] * 2).tolist()


def test_a_row_that_the_database_refuses_fails_alone() -> None:
    member = loaded(
        {"t": "string"}, table="sales.Accounts", key={"t": "country"}, outputs={"number": "int64"}
    )
    good, faults = run_split(member, {"t": objects("de", "nul\0", "fr", "it")}, 4)
    assert good["number"].tolist() == [1, 2]
    assert {at: fault.code for at, fault in faults.items()} == {1: "model_error", 3: "key_not_found"}


def test_a_query_that_takes_too_long_is_given_up() -> None:
    member = loaded(
        {"n": "int64"}, table="slowly", key="n", outputs={"twice": "int64"}, timeout=0.2, retries=1
    )
    _, faults = run_split(member, {"n": np.array([1, 2])}, 2)  # one query alone would take hours
    assert {fault.code for fault in faults.values()} == {"server_unreachable"}
    assert "statement timeout" in faults[0].message


def test_who_may_not_read_the_table_is_told(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    url = postgres.url("guest").replace("tester", "guest")
    monkeypatch.setenv("TEST_DB", url)
    member = loaded({"n": "int64"}, table="hidden", key="n", outputs={"m": {"from": "n", "type": "int64"}})
    _, faults = run_split(member, {"n": np.array([1, 2])}, 2)
    assert {fault.code for fault in faults.values()} == {"server_refused"}
    assert "permission denied for table hidden" in faults[0].message


def test_a_wrong_password_is_said_but_not_shown(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TEST_DB", postgres.url("hunter2"))
    with caplog.at_level(logging.DEBUG):
        _, faults = run_split(numbers(retries=0), {"n": np.array([1])}, 1)
    assert faults[0].code == "server_unreachable"
    assert "password authentication failed" in faults[0].message
    assert "hunter2" not in f"{faults[0]!r} {faults[0].stack} {caplog.text}"


def test_a_host_needs_leave_where_the_file_itself_names_it(postgres: Postgres) -> None:
    url = f"postgresql+psycopg://tester@127.0.0.1:{postgres.port}/postgres"
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(Path("/"), {"n": "int64"}, node(url=url, table="numbers", key="n"))
    assert [problem.code for problem in caught.value.problems] == ["untrusted_host"]


def test_rows_wait_for_a_server_that_comes_back(postgres: Postgres) -> None:
    member = numbers(retries=8)
    postgres.kill()
    back = threading.Timer(0.5, postgres.start)
    back.start()
    try:
        good, faults = run_split(member, {"n": np.arange(1, 101)}, 100)
    finally:
        back.join()
    assert faults == {}
    assert good["twice"].tolist() == list(range(2, 202, 2))


def test_a_server_that_stays_away_costs_its_batch_and_no_other(postgres: Postgres) -> None:
    member = numbers(retries=1)
    assert member({"n": np.array([1])})["twice"].tolist() == [2]
    postgres.kill()
    try:
        good, faults = run_split(member, {"n": np.arange(1, 101)}, 100)
        assert good == {}
        assert sorted(faults) == list(range(100))
        assert {fault.code for fault in faults.values()} == {"server_unreachable"}
        late = numbers(retries=0)  # a worker that starts meanwhile
        assert {fault.code for fault in run_split(late, {"n": np.arange(3)}, 3)[1].values()} == {
            "server_unreachable"
        }
    finally:
        postgres.start()
    for one in (member, late):
        assert one({"n": np.array([1, 2])})["twice"].tolist() == [2, 4]


def test_no_row_is_lost_or_doubled_while_the_server_is_killed(postgres: Postgres) -> None:
    member = numbers(retries=0, cache={"max_rows": 500, "max_age": 0.05})
    answers: list[tuple[int, Any]] = []
    stop = threading.Event()

    def go_on() -> None:
        start = 1
        while not stop.is_set() or start < 400:
            keys = np.arange(start, start + 10)
            good, faults = run_split(member, {"n": keys}, 10)
            found = iter(good["twice"].tolist() if good else [])
            answers.extend(
                (int(key), faults[at].code if at in faults else next(found)) for at, key in enumerate(keys)
            )
            start += 10

    worker = threading.Thread(target=go_on)
    worker.start()
    try:
        for _ in range(2):
            wait_until(lambda: answers and answers[-1][1] != "server_unreachable")
            postgres.kill()
            wait_until(lambda: answers[-1][1] == "server_unreachable")
            postgres.start()
        wait_until(lambda: answers[-1][1] != "server_unreachable")
    finally:
        stop.set()
        worker.join()
    assert [key for key, _ in answers] == list(range(1, len(answers) + 1))
    in_reach = [(key, answer) for key, answer in answers if key <= 5_000]
    assert {answer for key, answer in in_reach if answer != key * 2} <= {"server_unreachable"}
    assert in_reach[0][1] == 2
    assert any(answer == "server_unreachable" for _, answer in answers)
    assert answers[-1][1] != "server_unreachable"


def test_the_password_is_quoted_in_the_url() -> None:
    assert PASSWORD == "pass/w@rd"
    assert numbers()({"n": np.array([21])})["twice"].tolist() == [42]
