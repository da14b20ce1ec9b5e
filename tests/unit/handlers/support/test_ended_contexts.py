"""Nodes whose device fails for the whole process move to another; a model stands in that fails as CUDA does."""

from __future__ import annotations

from pathlib import Path

import joblib
import numpy as np
import pytest

from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.support import ended_contexts
from beam_ensembles.handlers.support.ended_contexts import MovableMember
from beam_ensembles.handlers.support.loading_here import load_here
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.processes.machine import this_machine
from tests.support.hazards import EndedContext
from tests.support.nodes import check_node

pytestmark = pytest.mark.usefixtures("forked_children")


def checked(folder: Path) -> CheckedNode:
    joblib.dump(EndedContext().fit(), folder / "model.joblib")
    spec = {
        "model": "sklearn",
        "uri": "model.joblib",
        "inputs": ["x"],
        "outputs": {"y": "double"},
        "trial": False,
    }
    return check_node(folder, {"x": "array<double>[2]"}, spec)


def rows(count: int, *bad: int) -> np.ndarray:
    x = np.arange(2.0 * count).reshape(count, 2)
    x[list(bad), 0] = EndedContext.ENDS
    return x


def test_the_bad_row_is_found_in_processes_that_are_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    member = MovableMember(checked(tmp_path), load_here(checked(tmp_path), this_machine()))
    x = rows(8, 3)
    outputs, faults = run_split(member, {"x": x}, 8)
    assert {at: error.code for at, error in faults.items()} == {3: "process_died"}
    assert "device-side assert" in faults[3].message
    assert len(outputs["y"]) == 7
    assert "node 'node' goes on in a process of its own" in caplog.text
    again, faults = run_split(member, {"x": rows(5)}, 5)
    assert (again["y"].tolist(), faults) == (rows(5).sum(axis=1).tolist(), {})


def test_a_row_that_is_only_wrong_moves_nothing(tmp_path: Path) -> None:
    member = MovableMember(checked(tmp_path), load_here(checked(tmp_path), this_machine()))
    x = rows(4)
    x[1, 0] = EndedContext.BAD
    _, faults = run_split(member, {"x": x}, 4)
    assert {at: error.code for at, error in faults.items()} == {1: "model_error"}
    assert type(member._member).__name__ != "IsolatedMember"


@pytest.mark.parametrize("has_gpu", [True, False])
def test_only_machines_with_a_gpu_need_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_gpu: bool
) -> None:
    monkeypatch.setattr(ended_contexts, "has_gpu_device", lambda: has_gpu)
    found = load_member(checked(tmp_path), this_machine())
    assert isinstance(found, MovableMember) == has_gpu
