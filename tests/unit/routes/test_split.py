"""``route: split``: the same arm for the same key, everywhere and forever."""

from __future__ import annotations

import json
import pathlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from apache_beam.utils.timestamp import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_ensembles.routes.sticky import Rendezvous, key_hashes
from beam_ensembles.types import INT64, STRING, dtype_of, parse_type
from tests.support.nodes import load_node, problems_of, types_of
from tests.support.rendezvous import assign, key_bytes, key_hash, xxh64

HERE = Path(__file__).parent
GOLDEN = pathlib.Path(__file__).parents[2] / "golden" / "split" / "assignments.json"
CASES = json.loads(GOLDEN.read_text(encoding="utf-8"))["cases"]
NODE: dict[str, Any] = {"route": "split", "inputs": ["k0"], "outputs": {"arm": None}}


def split(arms: dict[str, int], columns: list[str], salt: str | None = None) -> Any:
    inputs = {f"k{at}": type_ for at, type_ in enumerate(columns)}
    node = NODE | {"arms": arms, "inputs": list(inputs)} | ({} if salt is None else {"salt": salt})
    return load_node(HERE, inputs, node)


def column_of(values: list[Any], text: str) -> tuple[np.ndarray, np.ndarray]:
    """Creates a column with its companion, as the executor does."""
    dtype = dtype_of(parse_type(text))
    found = np.zeros(len(values), dtype=dtype or object)
    if dtype is None:
        found[:] = None
    valid = np.array([value is not None for value in values])
    for at in np.flatnonzero(valid):
        found[at] = Timestamp(micros=values[at]) if text.startswith("timestamp") else values[at]
    return found, valid


def arms_of(member: Any, rows: list[list[Any]], types: list[str]) -> list[str]:
    columns = {}
    for at, text in enumerate(types):
        columns[f"k{at}"], valid = column_of([row[at] for row in rows], text)
        if text.endswith("?"):
            columns[f"k{at}?"] = valid
    return member(columns)["arm"].tolist()


def canonical(value: Any) -> bytes | None:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return None if value is None else str(value).encode()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_published_assignments(case: dict[str, Any]) -> None:
    keys = [row["key"] for row in case["rows"]]
    found = arms_of(split(case["arms"], case["columns"], case["salt"]), keys, case["columns"])
    assert found == [row["arm"] for row in case["rows"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_published_algorithm_gives_the_published_assignments(case: dict[str, Any]) -> None:
    for row in case["rows"]:
        fields = [canonical(value) for value in row["key"]]
        assert key_bytes(fields).hex() == row["bytes"]
        assert f"{key_hash(fields, case['salt']):016x}" == row["hash"]
        assert assign(fields, case["salt"], case["arms"]) == row["arm"]


def test_the_example_of_the_docs() -> None:
    text = (HERE.parents[2] / "docs" / "reference" / "routes.md").read_text(encoding="utf-8")
    shown = next(line for line in text.splitlines() if "ff ff ff ff" in line and "00 00 00" in line)
    assert bytes.fromhex(shown) == key_bytes([b"ann", b"7", None])


def test_there_are_a_thousand_keys() -> None:
    assert sum(len(case["rows"]) for case in CASES) >= 1000


@given(st.binary(max_size=100), st.integers(0, 2**64 - 1))
def test_the_algorithm_s_hash_is_xxh64(data: bytes, seed: int) -> None:
    import xxhash

    assert xxh64(data, seed) == xxhash.xxh64_intdigest(data, seed)


WEIGHTS = st.dictionaries(
    st.text(min_size=1, max_size=3), st.integers(0, 100), min_size=1, max_size=5
).filter(lambda arms: any(arms.values()))


@settings(max_examples=30, deadline=None)
@given(
    arms=WEIGHTS,
    keys=st.lists(st.none() | st.text(max_size=5), min_size=1, max_size=8),
    salt=st.text(max_size=3),
)
def test_a_key_takes_one_arm_in_every_batch(arms: dict[str, int], keys: list[Any], salt: str) -> None:
    choose = Rendezvous(arms)

    def chosen(values: list[Any]) -> list[str]:
        column, valid = column_of(values, "string?")
        return choose(key_hashes([(column, STRING, valid)], salt)).tolist()

    together = chosen(keys)
    assert together == [chosen([key])[0] for key in keys]
    assert together == [assign([canonical(key)], salt, arms) for key in keys]
    assert all(arms[arm] > 0 for arm in together)


def keys(count: int) -> np.ndarray:
    return key_hashes([(np.arange(count), INT64, None)], "salt")


def test_shares_are_the_weights() -> None:
    count = 50_000
    found = Rendezvous({"a": 90, "b": 10, "off": 0})(keys(count))
    assert sorted(set(found.tolist())) == ["a", "b"]
    assert abs((found == "b").mean() - 0.1) < 4 * np.sqrt(0.09 / count)


@pytest.mark.parametrize(
    ("before", "after", "moves"),
    [
        ({"a": 10, "b": 90}, {"a": 20, "b": 80}, 0.10),
        ({"a": 10, "b": 45, "c": 45}, {"a": 20, "b": 40, "c": 40}, 0.10),
        ({"a": 90, "b": 10}, {"a": 90, "b": 10, "c": 25}, 0.20),
        ({"a": 50, "b": 30, "c": 20}, {"a": 50, "b": 30}, 0.20),
    ],
)
def test_only_the_keys_move_that_must(before: dict[str, int], after: dict[str, int], moves: float) -> None:
    hashes = keys(50_000)
    old, new = Rendezvous(before)(hashes), Rendezvous(after)(hashes)
    moved = old != new
    assert abs(moved.mean() - moves) < 0.007
    shares = {arm: after.get(arm, 0) / sum(after.values()) - before.get(arm, 0) / sum(before.values())
              for arm in {*before, *after}}  # fmt: skip
    assert {shares[arm] > 0 for arm in new[moved]} == {True}
    assert {shares[arm] < 0 for arm in old[moved]} == {True}


def test_the_order_of_the_arms_in_the_file_is_nothing() -> None:
    hashes = keys(1000)
    one, other = Rendezvous({"a": 1, "b": 2, "c": 3}), Rendezvous({"c": 3, "b": 2, "a": 1})
    assert (one(hashes) == other(hashes)).all()


def test_splits_of_different_nodes_are_independent() -> None:
    arms = Rendezvous({"a": 50, "b": 50})
    values = (np.arange(20_000), INT64, None)
    one, other = (arms(key_hashes([values], salt)) == "a" for salt in ("first", "second"))
    assert abs((one & other).mean() - 0.25) < 0.015


def test_the_salt_is_the_node_s_name_where_none_is_given() -> None:
    rows = [[f"user-{at}"] for at in range(50)]
    arms = {"a": 1, "b": 1}
    assert arms_of(split(arms, ["string"]), rows, ["string"]) == arms_of(
        split(arms, ["string"], "node"), rows, ["string"]
    )


def test_keys_are_not_run_together() -> None:
    rows = [["ab", "c"], ["a", "bc"], ["abc", ""], ["abc", None], [None, "abc"], [None, None], ["", ""]]
    columns = [column_of([row[at] for row in rows], "string?") for at in (0, 1)]
    hashes = key_hashes([(values, STRING, valid) for values, valid in columns], "")
    assert len(set(hashes.tolist())) == len(rows)


def test_a_number_is_the_same_key_in_every_width_and_as_text() -> None:
    texts = np.array(["7", "-3"], dtype=object)
    wanted = key_hashes([(texts, STRING, None)], "s").tolist()
    for name in ("int8", "int32", "int64"):
        values = np.array([7, -3], dtype=name)
        assert key_hashes([(values, parse_type(name), None)], "s").tolist() == wanted


def test_it_is_fast() -> None:
    member = split({"a": 90, "b": 5, "c": 5}, ["string", "int64"])
    columns = {"k0": np.array([f"user-{at}" for at in range(1024)], dtype=object), "k1": np.arange(1024)}
    names, numbers = (values.tolist() for values in columns.values())

    def seconds(call: Callable[[], object]) -> float:
        start = time.process_time()
        call()
        return time.process_time() - start

    def write() -> list[bytes]:
        return [f"{name}:{number}".encode() for name, number in zip(names, numbers, strict=True)]

    written = min(seconds(write) for _ in range(20))
    assert (
        min(seconds(lambda: member(columns)) for _ in range(20)) < 25 * written
    )  # four times on a quiet machine


def test_the_arm_is_text() -> None:
    assert types_of(HERE, {"k0": "string?"}, NODE | {"arms": {"a": 1}}) == {"arm": "string"}


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({"arms": {"a": 1.5}}, [("bad_weights", "arms.a")]),
        ({"arms": {"a": True}}, [("bad_weights", "arms.a")]),
        ({"arms": {"a": -1, "b": 2**31}}, [("bad_weights", "arms.a"), ("bad_weights", "arms.b")]),
        ({"arms": {"a": 0}}, [("bad_weights", "arms")]),
        ({"arms": {}}, [("bad_weights", "arms")]),
        ({"arms": ["a"]}, [("wrong_type", "arms")]),
        ({"salt": 1}, [("wrong_type", "salt")]),
        ({"inputs": ["x"]}, [("type_mismatch", "inputs[0]")]),
        ({"inputs": ["k0", "p"]}, [("type_mismatch", "inputs[1]")]),
        ({"inputs": {"key": "k0"}}, [("unknown_port", "inputs.key")]),
        ({"outputs": {"arm": "int32"}}, [("type_mismatch", "outputs.arm")]),
        ({"outputs": {"arm": None, "b": None}}, [("unknown_port", "outputs.b")]),
        ({"default": "a"}, [("unknown_option", "default")]),
    ],
)
def test_what_is_wrong(changes: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    inputs = {"k0": "string", "x": "double", "p": "array<int64>[2]"}
    assert problems_of(HERE, inputs, NODE | {"arms": {"a": 1, "b": 1}} | changes) == wanted
