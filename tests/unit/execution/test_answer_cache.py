"""Rows that were answered before are not asked again; whatever fails in the cache costs answers, no rows."""

from __future__ import annotations

import json
import logging
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from beam_ensembles.cli.main import main
from beam_ensembles.columns.batch import ColumnBatch, read_only
from beam_ensembles.columns.convert import to_column
from beam_ensembles.errors import BatchFailed, NodeError, SomeFailed
from beam_ensembles.execution.answer_cache import AnswerCache, cache_of
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.execution.kept_answers import BadAnswer, from_texts, to_texts
from beam_ensembles.execution.loaded_stage import _load
from beam_ensembles.execution.row_keys import row_keys
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member
from beam_ensembles.handlers.support.call_counts import counting
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.registry import KINDS
from beam_ensembles.types import parse_type
from tests.support.nodes import check_node, problems_of

INPUTS = {"x": "array<double>[2]", "word": "string?"}


def node(**more: Any) -> dict[str, Any]:
    return {
        "model": "python",
        "handler": "tests.support.model_handlers.Doubled",
        "inputs": ["x"],
        "outputs": {"y": "double", "said": "string?"},
        "cache": {"uri": "sqlite:///answers.db"},
        **more,
    }


class Asked:
    """A member that counts which rows it is asked."""

    def __init__(self, bad: float | None = None) -> None:
        self.rows: list[float] = []
        self.bad = bad

    def __call__(self, columns: Columns) -> Columns:
        assert not columns["x"].flags.writeable, (
            "a member that changed its rows would be asked about others again"
        )
        values = columns["x"][:, 0]
        self.rows += values.tolist()
        if self.bad in values.tolist():
            raise ValueError(f"{self.bad} is bad")
        said = np.array([None if value < 0 else f"it is {value}" for value in values], object)
        return {"y": values * 2, "said": said, "said?": values >= 0}


@pytest.fixture
def cache(tmp_path: Path) -> Any:
    found = cache_of(check_node(tmp_path, INPUTS, node()))
    assert found is not None
    yield found
    found.store.close()


def xs(*values: float) -> Columns:
    return {"x": read_only(np.array([[value, 0.5] for value in values]))}


def ask(member: Member, columns: Columns, count: int) -> tuple[Columns, dict[int, NodeError]]:
    return run_split(member, columns, count)


def answered(cache: AnswerCache, member: Member, *values: float) -> list[tuple[float, str | None]]:
    found, faults = cache.answer(member, xs(*values), ask)
    assert not faults
    there = found.get("said?", np.ones(len(values), bool)).tolist()
    said = [text if is_there else None for text, is_there in zip(found["said"].tolist(), there, strict=True)]
    cache.store.flush()
    return list(zip(found["y"].tolist(), said, strict=True))


def test_a_row_is_asked_once(cache: AnswerCache) -> None:
    member = Asked()
    expected = [(2.0, "it is 1.0"), (-2.0, None), (2.0, "it is 1.0")]
    with counting() as counts:
        assert answered(cache, member, 1, -1, 1) == expected
    assert counts.counters == {"cache_misses": 3, "shared_rows": 1}
    with counting() as counts:
        assert answered(cache, member, 1, -1, 1, 4)[:3] == expected
    assert counts.counters == {"cache_hits": 3, "cache_misses": 1}
    assert member.rows == [1, -1, 4]
    assert answered(cache, member, 4, 1) == [(8.0, "it is 4.0"), (2.0, "it is 1.0")]
    assert member.rows == [1, -1, 4]


def test_a_row_that_failed_is_asked_again_and_the_others_are_not(cache: AnswerCache) -> None:
    member = Asked(bad=3)
    answered(cache, member, 1)
    for _ in range(2):
        found, faults = cache.answer(member, xs(1, 3, 2, 3), ask)
        cache.store.flush()
        assert found["y"].tolist() == [2, 4]
        assert sorted(faults) == [1, 3]
    assert member.rows.count(1) == 1
    assert member.rows.count(3) > 2


def test_kept_answers_are_given_where_the_server_is_down(cache: AnswerCache) -> None:
    def down(columns: Columns) -> Columns:
        raise BatchFailed("server_unreachable", "down")

    answered(cache, Asked(), 1, 2)
    found, faults = cache.answer(down, xs(5, 1, 6, 2), ask)
    assert found["y"].tolist() == [2, 4]
    assert {at: error.code for at, error in faults.items()} == dict.fromkeys((0, 2), "server_unreachable")


def test_members_that_name_their_bad_rows(cache: AnswerCache) -> None:
    def some(columns: Columns) -> Columns:
        good = {name: values[1:] for name, values in Asked()(columns).items()}
        raise SomeFailed(good, {0: NodeError("bad_output", "no")})

    found, faults = cache.answer(some, xs(9, 1, 2), ask)
    assert found["y"].tolist() == [2, 4]
    assert list(faults) == [0]
    cache.store.flush()
    member = Asked()
    answered(cache, member, 9, 1, 2)
    assert member.rows == [9]


@pytest.mark.parametrize("more", [{"config": {"factor": 3}}, {"outputs": {"y": "float", "said": "string?"}}])
def test_another_node_has_other_answers(tmp_path: Path, cache: AnswerCache, more: dict[str, Any]) -> None:
    answered(cache, Asked(), 1)
    other = cache_of(check_node(tmp_path, INPUTS, node(**more)))
    assert other is not None
    member = Asked()
    other.answer(member, xs(1), ask)
    other.store.close()
    assert member.rows == [1]


@pytest.mark.parametrize(
    "more", [{"batch": {"max": 3}}, {"cache": {"uri": "sqlite:///answers.db", "max_age": "1d"}}]
)
def test_how_a_node_is_called_makes_no_other_answers(
    tmp_path: Path, cache: AnswerCache, more: dict[str, Any]
) -> None:
    answered(cache, Asked(), 1)
    other = cache_of(check_node(tmp_path, INPUTS, node(**more)))
    assert other is not None
    member = Asked()
    other.answer(member, xs(1), ask)
    other.store.close()
    assert member.rows == []


def test_the_file_is_the_users_alone(tmp_path: Path, cache: AnswerCache) -> None:
    answered(cache, Asked(), 1)
    files = list(tmp_path.glob("answers.db*"))
    assert len(files) > 1  # what SQLite writes beside it, too
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def age(tmp_path: Path, seconds: float) -> None:
    with sqlite3.connect(tmp_path / "answers.db") as connection:
        connection.execute("UPDATE beam_ensembles_answers SET made = made - ?", (seconds,))
    connection.close()


def test_old_answers_are_forgotten(tmp_path: Path) -> None:
    found = cache_of(
        check_node(tmp_path, INPUTS, node(cache={"uri": "sqlite:///answers.db", "max_age": "2h"}))
    )
    assert found is not None
    member = Asked()
    answered(found, member, 1)
    age(tmp_path, 3_600)
    answered(found, member, 1)
    age(tmp_path, 3_700)
    answered(found, member, 1)
    found.store.close()
    assert member.rows == [1, 1]


def test_there_are_no_more_answers_than_the_node_says(tmp_path: Path) -> None:
    found = cache_of(
        check_node(tmp_path, INPUTS, node(cache={"uri": "sqlite:///answers.db", "max_rows": 1e1}))
    )
    assert found is not None
    member = Asked()
    for at in range(30):
        answered(found, member, at)
    found.store.close()
    with sqlite3.connect(tmp_path / "answers.db") as connection:
        ((kept,),) = connection.execute("SELECT count(*) FROM beam_ensembles_answers")
    connection.close()
    assert kept == 10


def test_a_model_that_is_replaced_while_it_is_loaded_keeps_no_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The answers of the old model were kept as those of the new one, forever."""

    def save(factor: float) -> None:
        x = np.arange(4.0)[:, None]
        joblib.dump(LinearRegression(fit_intercept=False).fit(x, factor * x[:, 0]), tmp_path / "m.joblib")

    def replaced_meanwhile(node: CheckedNode) -> Member:
        member = load_member(node, this_machine())
        save(3.0)
        return member

    save(2.0)
    cache = {"uri": "sqlite:///answers.db"}
    spec = {
        "model": "sklearn",
        "uri": "m.joblib",
        "inputs": ["v"],
        "outputs": {"y": "double"},
        "cache": cache,
    }
    checked = check_node(tmp_path, {"v": "double"}, spec)
    for load, expected in ((replaced_meanwhile, 2.0), (lambda node: load_member(node, this_machine()), 3.0)):
        step = _load(checked, lambda update: None, load)
        batch = ColumnBatch(np.arange(1), {"v": np.array([1.0])})
        step.run(batch)
        assert batch.columns["y"].tolist() == pytest.approx([expected])
        if step._cache is not None:
            step._cache.store.close()
    assert "changed while it was loaded" in caplog.text


@pytest.mark.parametrize(("more", "is_kept"), [({}, False), ({"sha256": "0" * 64}, True)])
def test_a_model_whose_versions_nobody_tells_apart_keeps_no_answers(
    tmp_path: Path, more: dict[str, Any], is_kept: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """All its versions had the same answers."""
    cache = {"uri": f"sqlite:///{tmp_path}/answers.db"}
    spec = {"model": "onnx", "uri": "http://localhost:9/m.onnx", "inputs": ["x"], "outputs": {"y": "double"}}
    text = json.dumps({"ensemble": "e", "inputs": INPUTS, "nodes": {"m": {**spec, "cache": cache, **more}}})
    (checked,) = check_text(text, KINDS, Files(hosts=ANYTHING, trusted=("/",), is_own=True)).nodes
    found = cache_of(checked)
    assert (found is not None, "pin it with 'sha256'" in caplog.text) == (is_kept, not is_kept)
    if found is not None:
        found.store.close()


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be read as one" * 50, None])
def test_a_broken_cache_is_a_warning(
    tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    if content is None:
        (tmp_path / "answers.db").mkdir()
    else:
        (tmp_path / "answers.db").write_bytes(content)
    found = cache_of(check_node(tmp_path, INPUTS, node()))
    assert found is not None
    with caplog.at_level(logging.WARNING), counting() as counts:
        assert answered(found, Asked(), 1, 2)[0][0] == 2.0
        assert answered(found, Asked(), 1, 2)[0][0] == 2.0
    found.store.close()
    assert counts.counters["cache_errors"] >= 2
    assert len([one for one in caplog.records if "the cache of answers fails" in one.message]) == 1


@pytest.mark.parametrize("answer", ["no JSON", "[1]", '["much", null]', "[1, 2]", "{}", "[" * 100_000])
def test_an_answer_that_is_none_is_asked_again(tmp_path: Path, cache: AnswerCache, answer: str) -> None:
    answered(cache, Asked(), 1)
    with sqlite3.connect(tmp_path / "answers.db") as connection:
        connection.execute("UPDATE beam_ensembles_answers SET answer = ?", (answer,))
    connection.close()
    member = Asked()
    with counting() as counts:
        assert answered(cache, member, 1) == [(2.0, "it is 1.0")]
    assert member.rows == [1]
    assert counts.counters["cache_errors"] == 1


def test_two_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from tests.unit.execution import test_answer_cache as test
folder, first = Path(sys.argv[1]), int(sys.argv[2])
cache = test.cache_of(test.check_node(folder, test.INPUTS, test.node()))
for at in range(first, first + 200, 4):
    cache.answer(test.Asked(), test.xs(*map(float, range(at, at + 4))), test.ask)
"""
    workers = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(first)]) for first in (0, 100)
    ]
    assert [worker.wait(120) for worker in workers] == [0, 0]
    found = cache_of(check_node(tmp_path, INPUTS, node()))
    assert found is not None
    member = Asked()
    answered(found, member, *map(float, range(300)))
    found.store.close()
    assert member.rows == []


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32),
    "double": st.floats(),
    "boolean": st.booleans(),
    "string": st.text(),
    "bytes": st.binary(),
    "array<double>": st.lists(st.floats(allow_nan=False)),
    "array<string?>": st.lists(st.none() | st.text()),
    "array<float>[2]": st.lists(st.floats(width=32), min_size=2, max_size=2),
    "map<string,int64>": st.dictionaries(st.text(), st.integers(-(2**63), 2**63 - 1)),
    "row<a:string,b:bytes?>": st.fixed_dictionaries({"a": st.text(), "b": st.none() | st.binary()}),
}


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from(sorted(VALUES)))
def test_answers_of_any_type_come_back_as_they_were(data: st.DataObject, name: str) -> None:
    type_ = parse_type(name)
    values = data.draw(st.lists(VALUES[name], min_size=1, max_size=5))
    column = to_column(values, type_, "y").values
    found = from_texts(to_texts({"y": column}, {"y": type_}), {"y": type_})["y"]
    assert found.dtype == column.dtype
    assert repr(found.tolist()) == repr(column.tolist())


@given(st.text() | st.builds(json.dumps, st.lists(st.none() | st.text() | st.floats() | st.booleans())))
def test_any_text_is_an_answer_or_is_told_apart(text: str) -> None:
    types: Mapping[str, Any] = {"y": parse_type("double"), "z": parse_type("string?")}
    try:
        found = from_texts([text], types)
    except BadAnswer:
        return
    assert len(found["y"]) == 1


@settings(max_examples=30, deadline=None)
@given(st.data(), st.sampled_from(sorted(VALUES)))
def test_a_key_depends_on_the_row_alone(data: st.DataObject, name: str) -> None:
    type_ = parse_type(name)
    values = data.draw(st.lists(VALUES[name], min_size=1, max_size=5))
    types = [("x", type_)]
    together = row_keys(b"", {"x": to_column(values, type_, "x").values}, types)
    alone = [row_keys(b"", {"x": to_column([value], type_, "x").values}, types)[0] for value in values]
    assert together == alone
    for one, first in enumerate(values):
        for two, second in enumerate(values):
            assert (together[one] == together[two]) == (_bits(first) == _bits(second))


def _bits(value: Any) -> str:
    if isinstance(value, dict):
        return repr([(key, _bits(value[key])) for key in sorted(value)])
    return repr(value)


def test_a_null_is_no_value() -> None:
    types = [("x", parse_type("double"))]
    values, there = np.array([0.0, 0.0]), np.array([True, False])
    one, two = row_keys(b"", {"x": values, "x?": there}, types)
    assert one != two
    assert one == row_keys(b"", {"x": values}, types)[0]


@pytest.mark.parametrize(
    ("cache", "problem"),
    [
        ({"max_age": 3}, ("missing_key", "cache")),
        ({"uri": 3}, ("bad_value", "cache.uri")),
        ({"uri": "sqlite:///model.pkl"}, ("bad_value", "cache.uri")),
        ({"uri": "mysql://localhost/x"}, ("bad_value", "cache.uri")),
        ({"uri": "postgresql://me:secret@localhost/x"}, ("bad_value", "cache.uri")),
        ({"uri": "postgresql://elsewhere.example.com/x"}, ("untrusted_host", "cache.uri")),
        ({"uri": "sqlite:////elsewhere/answers.db"}, ("untrusted_file", "cache.uri")),
        ({"uri": {"secret": "env:HOME"}}, ("untrusted_secret", "cache.uri")),
        ({"uri": "sqlite:///a.db", "age": 3}, ("unknown_option", "cache.age")),
        ({"uri": "sqlite:///a.db", "max_age": "30 days"}, ("bad_value", "cache.max_age")),
        ({"uri": "sqlite:///a.db", "max_rows": 0.5}, ("bad_value", "cache.max_rows")),
    ],
)
def test_mistakes(tmp_path: Path, cache: dict[str, Any], problem: tuple[str, str]) -> None:
    assert problem in problems_of(tmp_path, INPUTS, node(cache=cache))


def test_writing_does_not_hold_rows_back(tmp_path: Path) -> None:
    found = cache_of(check_node(tmp_path, INPUTS, node()))
    assert found is not None
    member = Asked()
    with sqlite3.connect(tmp_path / "answers.db", isolation_level=None) as other:
        found.answer(member, xs(0), ask)
        found.store.flush()
        other.execute("BEGIN IMMEDIATE")
        start = time.monotonic()
        found.answer(member, xs(1), ask)
        assert time.monotonic() - start < 5
        other.execute("ROLLBACK")
    other.close()
    found.store.close()
    assert member.rows == [0, 1]


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_a_model_that_is_faster_than_its_cache_is_asked_at_once(
    cache: AnswerCache, seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    member = Asked()

    def slow(columns: Columns) -> Columns:
        time.sleep(seconds)
        return member(columns)

    values = [*map(float, range(500))]
    with caplog.at_level(logging.WARNING):
        for batch in range(5):
            cache.answer(slow, xs(*(value + 1_000 * batch for value in values)), ask)
    cache.store.flush()
    assert len(member.rows) == 2_500
    cache.answer(slow, xs(*values), ask)
    assert len(member.rows) == (2_500 if seconds else 3_000)
    assert ("faster than its cache" in caplog.text) == (not seconds)


def test_a_bundle_is_not_written_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "e.yaml"
    chat = {
        "model": "chat", "url": "http://localhost/v1", "name": "m", "inputs": ["word"], "outputs": {"said": {}},
        "messages": [{"role": "user", "content": "{word}"}], "text": True, "cache": {"uri": "sqlite:///a.db"},
    }  # fmt: skip
    file.write_text(json.dumps({"ensemble": "e", "inputs": {"word": "string"}, "nodes": {"chat": chat}}))
    assert main(["pack", str(file), "--output", str(tmp_path / "e.ensemble.zip")]) == 1
    said = capsys.readouterr()
    assert (
        "[not_in_bundle] nodes.chat.cache.uri: 'a.db' would be among the files of a bundle"
        in said.out + said.err
    )
