"""A stage in several processes: answers, errors, metrics and logs are those of the worker itself."""

from __future__ import annotations

import collections
import contextlib
import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import apache_beam as beam
import joblib
import numpy as np
import psutil
import pyarrow as pa
import pytest
from apache_beam.metrics.metric import MetricsFilter

from beam_ensembles import RunEnsemble
from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.columns.rows import ObjectRows
from beam_ensembles.errors import EnsembleError, NodeFailed
from beam_ensembles.execution import stage_processes
from beam_ensembles.execution.growing_stage import load_stage
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.execution.node_metrics import Update
from beam_ensembles.execution.stage_processes import StageProcesses
from beam_ensembles.files.ensemble_files import LIBRARY_CODE, Files
from beam_ensembles.graph import EnsembleGraph, check_text
from beam_ensembles.metrics import names
from beam_ensembles.processes.column_pipe import ColumnPipe
from beam_ensembles.processes.fork_client import HERE
from beam_ensembles.processes.machine import Machine, this_machine
from beam_ensembles.processes.process_count import MOST_PROCESSES, PROCESSES_VARIABLE
from beam_ensembles.registry import KINDS
from tests.support.hazards import ByProcess, Hazard
from tests.support.machines import Have
from tests.support.machines import have as have
from tests.support.patience import wait_until
from tests.support.processes import children_that_run

ROWS = 100
Load: TypeAlias = Callable[..., tuple[StageProcesses, LoadedStage]]

pytestmark = pytest.mark.usefixtures("forked_children")


def checked(folder: Path, model: Any, **more: Any) -> EnsembleGraph:
    joblib.dump(model, folder / "model.joblib")
    node = {"model": "sklearn", "uri": "model.joblib", "inputs": ["x"], "outputs": {"y": "double"}, **more}
    file = {
        "ensemble": "e",
        "inputs": {"x": "array<double>[2]"},
        "nodes": {"n": node, "twice": {"apply": "sql", "inputs": ["y"], "select": {"z": "2 * y"}}},
        "outputs": ["y", "z"],
    }
    return check_text(json.dumps(file), KINDS, Files(str(folder), (str(folder),), code=LIBRARY_CODE))


def stage_code(folder: Path, model: Any, **more: Any) -> StageCode:
    graph = checked(folder, model, **more)
    inputs = tuple((name, name, type_) for name, type_ in graph.columns_read)
    return StageCode("e", graph.nodes, inputs, graph.outputs, ObjectRows((), ("y", "z")))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Update]:
    """The updates of metrics, which otherwise only a bundle notes."""
    found: list[Update] = []
    monkeypatch.setattr(stage_processes, "write_metric", found.append)
    return found


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Loads a stage both ways, once for all tests that ask for the same."""

    @functools.cache
    def load(
        model: type[Hazard] = Hazard, on_error: str = '"fail_row"'
    ) -> tuple[StageProcesses, LoadedStage]:
        code = stage_code(tmp_path_factory.mktemp("stage"), model(), on_error=json.loads(on_error))
        return StageProcesses(code, 2, this_machine().cores).wait(), LoadedStage(
            code, this_machine(), lambda update: None
        )

    return load


def children() -> list[psutil.Process]:
    """Returns the processes of stages of this one."""
    return children_that_run("stage_process")


def has_ended(process: psutil.Process) -> bool:
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:  # a fork server does not leave it a zombie
        return True


def batch(rows: int = ROWS, **asked: int) -> ColumnBatch:
    """Returns a batch; ``asked`` maps names to the places of rows that ask for something."""
    x = np.arange(rows * 2, dtype=np.float64).reshape(rows, 2)
    for name, at in asked.items():
        x[at, 0] = getattr(Hazard, name.upper())
    found = ColumnBatch(np.arange(rows), {})
    found.add({"x": x})
    return found


def plain(found: ColumnBatch) -> Any:
    columns = {name: values.tolist() for name, values in found.columns.items() if name in ("x", "y", "z")}
    failures = sorted((failure.index, failure.node, str(failure.error)) for failure in found.failures)
    return found.rows.tolist(), columns, failures


@pytest.mark.parametrize("rows", [0, 1, 31, 63, 64, 1_000])
def test_answers_are_those_of_the_worker(loaded: Load, rows: int) -> None:
    processes, here = loaded()
    found, expected = batch(rows), batch(rows)
    processes.run(found)
    here.run(expected)
    assert plain(found) == plain(expected)


@pytest.mark.parametrize("on_error", ["fail_row", "nullify", {"default": {"y": 5.0}}])
@pytest.mark.parametrize("asked", [{"bad": 0}, {"bad": 99}, {"exits": 70}])
def test_rows_that_fail_are_those_of_the_worker(loaded: Load, on_error: Any, asked: Any) -> None:
    processes, here = loaded(Hazard, json.dumps(on_error))
    found, expected = batch(**asked), batch(**asked)
    processes.run(found)
    here.run(expected)
    assert plain(found) == plain(expected)
    assert len(found.failures) == (on_error == "fail_row")


def test_a_batch_of_bad_rows_only_has_no_columns_to_join(loaded: Load) -> None:
    processes, _ = loaded()
    found = batch(64)
    found.columns["x"] = np.full((64, 2), Hazard.BAD)
    processes.run(found)
    assert (len(found), len(found.failures)) == (0, 64)


def test_an_error_that_fails_the_bundle_is_raised_here(loaded: Load) -> None:
    processes, _ = loaded(Hazard, json.dumps("fail"))
    with pytest.raises(NodeFailed, match=r"model_error.*nodes\.n"):
        processes.run(batch(bad=3))
    processes.run(batch())  # the process goes on


def test_a_batch_alone_is_scored_in_all_processes_and_one_beside_others_in_one(loaded: Load) -> None:
    processes, _ = loaded(ByProcess)
    alone, beside = batch(), batch()
    processes.run(alone)
    with this_machine().cores.one_used():
        processes.run(beside)
    pids = set(alone.columns["y"].tolist())
    assert len(pids) == 2
    assert os.getpid() not in pids
    assert len(set(beside.columns["y"].tolist())) == 1


def test_a_batch_beside_another_one_is_scored_as_a_whole_in_the_process_that_is_idle(loaded: Load) -> None:
    processes, _ = loaded(ByProcess)
    busy, whole = processes._idle.get(), batch()
    processes.run(whole)
    processes._idle.put(busy)
    (pid,) = set(whole.columns["y"].tolist())
    assert pid not in (os.getpid(), busy._process.pid)


def test_metrics_are_written_in_the_worker(tmp_path: Path, written: list[Update]) -> None:
    StageProcesses(stage_code(tmp_path, Hazard()), 2, this_machine().cores).wait().run(batch(bad=10))
    found = collections.Counter[tuple[str, str]]()
    for _, namespace, name, value in written:
        found[namespace, name] += value
    assert found["e/n", names.NUM_INFERENCES] == ROWS - 1
    assert found["e/n", names.FAILED_ROWS] == 1
    assert found["e/twice", names.NUM_INFERENCES] == ROWS - 1
    assert [name for _, namespace, name, _ in written if namespace == "e/n"].count(names.LOAD_LATENCY) == 2


def test_logs_are_written_in_the_worker_and_name_the_node(
    loaded: Load, caplog: pytest.LogCaptureFixture
) -> None:
    processes, _ = loaded()
    processes.run(batch(logs=5))
    (record,) = [record for record in caplog.records if record.name == "of.a.model"]
    assert (record.getMessage(), record.levelname) == ("seen 7", "WARNING")
    assert record.beam_ensembles_fields == {"ensemble": "e", "node": "n"}  # type: ignore[attr-defined]


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("is_forked", [True, False], ids=["forked", "new"])
def test_a_process_that_is_killed_is_started_again(
    tmp_path: Path,
    loaded: Load,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    is_forked: bool,
) -> None:
    _, here = loaded()
    others = set(children())
    if not is_forked:
        monkeypatch.setattr(HERE, "_connection", None)
    processes = StageProcesses(
        stage_code(tmp_path, Hazard()), 2 if is_forked else 1, this_machine().cores
    ).wait()
    for child in set(children()) - others:
        child.kill()
        wait_until(lambda child=child: has_ended(child))
    found, expected = batch(), batch()
    processes.run(found)
    here.run(expected)
    assert plain(found) == plain(expected)
    assert "died of signal 9 (the system sends it when memory runs out); it is started again" in caplog.text


def test_rows_that_kill_a_process_twice_fail_their_bundle_with_a_reason(loaded: Load) -> None:
    processes, _ = loaded()
    with pytest.raises(
        EnsembleError, match=r"died twice on the same rows with exit code 7; .*isolate: process"
    ):
        processes.run(batch(dies=3))
    found = batch()
    processes.run(found)
    assert len(found) == ROWS


def test_an_answer_that_was_not_received_is_not_taken_for_the_next(
    loaded: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes, here = loaded()

    def run_out(_: ColumnPipe) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(ColumnPipe, "recv", run_out)
        with pytest.raises(MemoryError):
            processes.run(batch(20))
    for _ in range(2):
        found, expected = batch(20), batch(20)
        found.columns["x"] = expected.columns["x"] = found.columns["x"] + 1
        processes.run(found)
        here.run(expected)
        assert plain(found) == plain(expected)


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("asked", [{}, {"bad": 3}, {"dies": 3}])
def test_its_processes_end_with_it(tmp_path: Path, asked: dict[str, int]) -> None:
    others = set(children())
    processes = StageProcesses(stage_code(tmp_path, Hazard()), 2, this_machine().cores).wait()
    with contextlib.suppress(EnsembleError):
        processes.run(batch(**asked))
    assert len(set(children()) - others) >= 1
    del processes
    wait_until(lambda: set(children()) <= others)


def test_a_stage_that_cannot_be_loaded_says_why(tmp_path: Path) -> None:
    code = stage_code(tmp_path, Hazard())
    (tmp_path / "model.joblib").write_bytes(b"nothing")
    with pytest.raises(EnsembleError) as said:
        LoadedStage(code, this_machine())
    with pytest.raises(type(said.value)) as found:
        StageProcesses(code, 2, this_machine().cores).wait()
    assert str(found.value) == str(said.value)


@pytest.mark.parametrize("said", ["-1", "two", "1.5", str(MOST_PROCESSES + 1)])
def test_a_wrong_number_says_what_is_allowed(monkeypatch: pytest.MonkeyPatch, have: Have, said: str) -> None:
    monkeypatch.setenv(PROCESSES_VARIABLE, said)
    with pytest.raises(
        EnsembleError, match=rf"\${PROCESSES_VARIABLE} must be a whole number from 0 to 256, not '{said}'"
    ):
        have()


def test_small_models_of_rows_that_come_one_by_one_stay_in_the_worker(
    tmp_path: Path,
) -> None:
    machine = Machine(stage_processes=2)
    code = stage_code(tmp_path, Hazard())
    assert isinstance(load_stage(code, machine), LoadedStage)
    assert isinstance(load_stage(code, machine, arrow=True), StageProcesses)
    assert isinstance(load_stage(code, Machine(), arrow=True), LoadedStage)
    assert isinstance(load_stage(code, Machine(stage_processes=None), arrow=True), LoadedStage)


def test_a_pipeline_counts_what_its_processes_score(tmp_path: Path, have: Have) -> None:
    have(stage_processes=2)
    graph = checked(tmp_path, Hazard())
    file = tmp_path / "e.json"
    file.write_text(graph.spec.text)
    schema = pa.schema([("x", pa.list_(pa.float64(), 2))])
    x = np.arange(ROWS * 2, dtype=np.float64)
    table = pa.table([pa.FixedSizeListArray.from_arrays(pa.array(x), 2)], schema)
    pipeline = beam.Pipeline()
    scored = pipeline | beam.Create([table] * 3, reshuffle=False)
    found = scored | RunEnsemble(str(file)).with_arrow_schema(schema)
    total = found | beam.Map(lambda table: float(np.sum(table["z"].to_numpy()))) | beam.CombineGlobally(sum)
    total | beam.Map(lambda value: (tmp_path / "total").write_text(str(value)))
    result = pipeline.run()
    result.wait_until_finish()
    assert float((tmp_path / "total").read_text()) == 3 * 2 * x.sum()
    (count,) = result.metrics().query(MetricsFilter().with_namespace("e/n").with_name("num_inferences"))[
        "counters"
    ]
    assert count.committed == 3 * ROWS
