"""Stages that go into several processes by themselves: when, with which answers, and what happens if they cannot."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.execution import growing_stage
from beam_ensembles.execution.growing_stage import GrowingStage, load_stage
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.execution.stage_processes import StageProcesses
from beam_ensembles.processes.cores import Cores
from beam_ensembles.processes.machine import Machine
from beam_ensembles.processes.spare_cores import SpareCores
from tests.support.hazards import Hazard
from tests.support.patience import wait_until
from tests.unit.execution.test_stage_processes import batch, plain, stage_code

pytestmark = pytest.mark.usefixtures("forked_children")


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which one process more would keep all cores busy, found out at once."""
    at_once(monkeypatch)
    monkeypatch.setattr(SpareCores, "processes", lambda _: 2)


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces a stage to look for idle cores after its first batch, and to compare after one more."""
    for name in ("FIRST_SECONDS", "LOADS", "WARM_SECONDS", "TRIAL_SECONDS"):
        monkeypatch.setattr(growing_stage, name, 0)


def growing(code: StageCode) -> GrowingStage:
    return GrowingStage(code, Machine(Cores(4), stage_processes=None))


def answers(stage: Any) -> Any:
    found = batch(bad=7)
    stage.run(found)
    return plain(found)


def test_a_busy_stage_goes_on_in_processes_with_the_same_answers(two: None, tmp_path: Path) -> None:
    stage = growing(stage_code(tmp_path, Hazard()))
    expected = answers(stage)
    assert isinstance(stage._stage, LoadedStage)  # which scores until the processes are ready

    def has_grown() -> bool:
        assert answers(stage) == expected
        return isinstance(stage._stage, StageProcesses)

    wait_until(has_grown)
    assert answers(stage) == expected


@pytest.mark.parametrize(
    ("rate", "stays"), [(104.0, LoadedStage), (106.0, StageProcesses)], ids=["no faster", "faster"]
)
def test_processes_stay_if_they_are_faster(
    two: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rate: float, stays: type
) -> None:
    rates = iter([100.0])
    monkeypatch.setattr(SpareCores, "items_per_second", property(lambda _: next(rates, rate)))
    stage = growing(stage_code(tmp_path, Hazard()))
    expected = answers(stage)

    def is_settled() -> bool:
        assert answers(stage) == expected
        return stage._is_settled

    wait_until(is_settled)
    assert isinstance(stage._stage, stays)
    assert answers(stage) == expected


def test_models_that_use_all_cores_are_tried_in_processes_of_one_core(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    at_once(monkeypatch)
    monkeypatch.setattr(SpareCores, "processes", lambda _: 1)
    monkeypatch.setattr(SpareCores, "processes_of_one_core", lambda _: 3)
    monkeypatch.setattr(growing_stage, "uses_all_cores", lambda _: True)
    stage = growing(stage_code(tmp_path, Hazard()))
    wait_until(lambda: bool(answers(stage)) and isinstance(stage._stage, StageProcesses))
    assert stage._stage._count == 3


def test_a_large_batch_is_scored_in_pieces_until_it_is_settled(
    two: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stage = growing(stage_code(tmp_path, Hazard()))
    whole, pieces = batch(300, bad=7), batch(300, bad=7)
    LoadedStage(stage._code, stage._machine).run(whole)
    sizes: list[int] = []
    run = stage._stage.run

    def noted(found: Any) -> None:
        sizes.append(len(found))
        run(found)

    monkeypatch.setattr(growing_stage, "PIECE_ROWS", 128)
    monkeypatch.setattr(stage._stage, "run", noted)
    monkeypatch.setattr(SpareCores, "processes", lambda _: 1)
    stage.run(pieces)
    assert sizes == [128, 128, 44]
    assert plain(pieces) == plain(whole)


def test_a_stage_that_leaves_no_core_idle_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    at_once(monkeypatch)
    monkeypatch.setattr(SpareCores, "processes", lambda _: 1)
    stage = growing(stage_code(tmp_path, Hazard()))
    for _ in range(20):
        answers(stage)
    assert stage._is_settled
    assert isinstance(stage._stage, LoadedStage)


def test_a_stage_that_was_busy_for_a_moment_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(SpareCores, "processes", lambda _: pytest.fail("looked"))
    stage = growing(stage_code(tmp_path, Hazard()))
    for _ in range(20):
        answers(stage)
    assert not stage._is_settled


def test_a_stage_that_is_slow_to_load_waits_longer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(growing_stage, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(growing_stage, "LOADS", 1e9)
    monkeypatch.setattr(SpareCores, "processes", lambda _: pytest.fail("looked"))
    answers(growing(stage_code(tmp_path, Hazard())))


def test_a_stage_that_others_cannot_load_stays_and_says_why(
    two: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = growing(stage_code(tmp_path, Hazard()))
    (tmp_path / "model.joblib").write_bytes(b"nothing")
    expected = answers(stage)
    with caplog.at_level(logging.WARNING):
        wait_until(lambda: answers(stage) == expected and stage._is_settled)
    assert isinstance(stage._stage, LoadedStage)
    assert "ensemble 'e' stays in one process, since it cannot be loaded in others" in caplog.text


def test_it_is_for_models_that_one_process_does_not_keep_busy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    code = stage_code(tmp_path, Hazard())
    monkeypatch.setattr(growing_stage, "worth_processes", lambda nodes, arrow: True)
    unsaid = Machine(Cores(2), stage_processes=None)
    assert isinstance(load_stage(code, unsaid), GrowingStage)
    assert isinstance(load_stage(code, Machine(Cores(1), stage_processes=None)), LoadedStage)
    for said in (0, 1):
        assert isinstance(load_stage(code, Machine(Cores(2), stage_processes=said)), LoadedStage)
    monkeypatch.setattr(growing_stage, "has_gpu_device", lambda: True)
    assert isinstance(load_stage(code, unsaid), LoadedStage)


def test_rows_are_those_of_the_batch_whatever_happens_between(two: None, tmp_path: Path) -> None:
    stage = growing(stage_code(tmp_path, Hazard()))
    for rows in (0, 1, 31, 1_000):
        found = batch(rows)
        stage.run(found)
        assert found.rows.tolist() == np.arange(rows).tolist()
