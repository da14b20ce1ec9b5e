"""Splitting a failing batch until the bad rows stand alone."""

from __future__ import annotations

import asyncio
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import BatchFailed, NodeError, SomeFailed
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import Columns


class Doubler:
    """Doubles x and refuses negative values; counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, columns: Columns) -> Columns:
        self.calls += 1
        if (columns["x"] < 0).any():
            raise ValueError("negative\nvalue")
        return {"y": columns["x"] * 2}


def test_a_good_batch_is_one_call() -> None:
    member = Doubler()
    outputs, faults = run_split(member, {"x": np.arange(5.0)}, 5)
    assert outputs["y"].tolist() == [0, 2, 4, 6, 8]
    assert (faults, member.calls) == ({}, 1)


def test_bad_rows_of_ten_thousand_are_found_in_few_calls() -> None:
    x = np.arange(1.0, 10_001.0)
    bad = [17, 5_000, 9_999]
    x[bad] *= -1
    member = Doubler()
    outputs, faults = run_split(member, {"x": x}, len(x))
    assert sorted(faults) == bad
    assert outputs["y"].tolist() == (x[x > 0] * 2).tolist()
    assert member.calls <= 2 * len(bad) * (math.ceil(math.log2(len(x))) + 1) + 1


@given(st.lists(st.booleans(), max_size=40))
def test_no_row_is_lost_or_doubled(good: list[bool]) -> None:
    x = np.array([index + 1.0 if fine else -index - 1.0 for index, fine in enumerate(good)])
    outputs, faults = run_split(Doubler(), {"x": x}, len(x))
    assert sorted(faults) == [index for index, fine in enumerate(good) if not fine]
    if any(good):
        assert outputs["y"].tolist() == [2.0 * value for value in x if value > 0]


def test_a_models_exception_becomes_one_line_with_its_stack_apart() -> None:
    _, faults = run_split(Doubler(), {"x": np.array([-1.0])}, 1)
    assert faults[0].code == "model_error"
    assert str(faults[0]) == "ValueError: negative value"
    assert "Traceback" in faults[0].stack


def test_a_members_own_error_keeps_its_code() -> None:
    def refuse(columns: Columns) -> Columns:
        raise NodeError("misaligned", "gave 5 for 1")

    _, faults = run_split(refuse, {"x": np.zeros(2)}, 2)
    assert [error.code for error in faults.values()] == ["misaligned", "misaligned"]


def test_a_batch_that_failed_for_no_rows_sake_is_not_split() -> None:
    calls = []

    def unreachable(columns: Columns) -> Columns:
        calls.append(len(columns["x"]))
        raise BatchFailed("server_unreachable", "nobody answers")

    outputs, faults = run_split(unreachable, {"x": np.zeros(10_000)}, 10_000)
    assert calls == [10_000]
    assert (outputs, sorted(faults)) == ({}, list(range(10_000)))
    assert {error.code for error in faults.values()} == {"server_unreachable"}


def test_what_was_answered_before_the_batch_failed_is_kept() -> None:
    calls = []

    def dies_later(columns: Columns) -> Columns:
        calls.append(columns["x"].tolist())
        if len(calls) > 4:
            raise BatchFailed("server_unreachable", "nobody answers")
        if 1 in columns["x"]:
            raise ValueError
        return {"y": columns["x"]}

    outputs, faults = run_split(dies_later, {"x": np.arange(8)}, 8)
    assert calls == [[0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 2, 3], [0, 1], [0], [1]]
    assert outputs["y"].tolist() == [0]
    assert list(faults) == [1, 2, 3, 4, 5, 6, 7]


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(1, 5))
def test_rows_that_a_member_names_fail_without_another_call(good: list[bool], limit: int) -> None:
    calls = []

    def member(columns: Columns) -> Columns:
        calls.append(len(columns["x"]))
        fine = columns["x"] > 0
        if fine.all():
            return {"y": columns["x"] * 2}
        faults = {at: NodeError("bad", f"row {at}") for at in np.flatnonzero(~fine).tolist()}
        raise pickle.loads(pickle.dumps(SomeFailed({"y": columns["x"][fine] * 2}, faults)))

    x = np.array([index + 1.0 if fine else -index - 1.0 for index, fine in enumerate(good)])
    outputs, faults = run_split(member, {"x": x}, len(x), limit)
    assert sorted(faults) == [index for index, fine in enumerate(good) if not fine]
    assert {fault.code for fault in faults.values()} <= {"bad"}
    assert sum(calls) == len(x)
    if any(good):
        assert outputs["y"].tolist() == [2.0 * value for value in x if value > 0]


def test_an_interrupt_is_nobodys_fault() -> None:
    def interrupted(columns: Columns) -> Columns:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_split(interrupted, {"x": np.zeros(1)}, 1)


@pytest.mark.parametrize("kind", [SystemExit, asyncio.CancelledError, BaseException])
def test_whatever_code_raises_fails_its_row(kind: type[BaseException]) -> None:
    def leaves(columns: Columns) -> Columns:
        if (columns["x"] < 0).any():
            raise kind("no more")
        return {"y": columns["x"]}

    outputs, faults = run_split(leaves, {"x": np.array([1.0, -1.0, 2.0])}, 3)
    assert outputs["y"].tolist() == [1.0, 2.0]
    assert {at: (error.code, str(error)) for at, error in faults.items()} == {
        1: ("model_error", f"{kind.__name__}: no more")
    }
