"""A new version in a running pipeline is taken only where it gives what the lock says, within limits."""

from __future__ import annotations

import os
import pickle
import shutil
import time
from pathlib import Path
from typing import Any

import apache_beam as beam
import joblib
import pytest

from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.metrics import names
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.refresh import Watch
from beam_ensembles.runtime.stage_handler import StageModelHandler
from beam_ensembles.transforms import RunEnsemble
from tests.support import locked_flowers as flowers
from tests.support.locked_flowers import CHANGES, FILE, X

GATED = f"{FILE}refresh: {{gate: lock, max_label_changes: 1%, max_shift: {{confidence: 0.0001}}}}\n"
ROW = beam.Row(x=X[70].tolist(), note="blue common")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files with their lock."""
    folder = tmp_path_factory.mktemp("flowers")
    flowers.write(folder)
    flowers.lock(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy whose file asks for a gate."""
    found = Path(shutil.copytree(made, tmp_path / "copy"))
    (found / "flowers.yaml").write_text(GATED)
    return found


def handlers(folder: Path) -> list[Any]:
    """Returns the handlers of a pipeline's stages, whose versions are looked for when somebody tells them to."""
    pipeline = beam.Pipeline()
    rows = pipeline | beam.Create([ROW])
    rows | RunEnsemble(folder / "flowers.yaml", refresh_interval_secs=3600)
    found: list[Any] = []

    class Visitor(beam.pipeline.PipelineVisitor):
        def visit_transform(self, node: Any) -> None:
            handler = getattr(getattr(node.transform, "fn", None), "_model_handler", None)
            while handler is not None and not isinstance(handler, StageModelHandler):
                handler = handler._base
            if handler is not None:
                found.append(handler)

    pipeline.visit(Visitor())
    return found


def running(folder: Path) -> tuple[Any, Any]:
    """Returns the handler of a pipeline of one stage, and that stage, loaded."""
    (handler,) = handlers(folder)
    return handler, handler.load_model()


def score(handler: Any, model: Any) -> Any:
    (result,) = handler.run_inference(RowBatch([ROW]), model)
    return result.ok[0]


def later(folder: Path) -> None:
    """Sets the time of every file to now, as a later write does."""
    for path in folder.iterdir():
        os.utime(path, ns=(time.time_ns(), time.time_ns()))


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_version_is_refused(name: str, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    handler, model = running(folder)
    before = score(handler, model)
    CHANGES[name][1](folder)  # one that changes the file drops the gate from it, which does not help
    later(folder)
    model.look()
    assert model._events == [names.REFUSED_REFRESHES, names.REFUSED_BY_GATE]
    assert score(handler, model) == before
    (said,) = [one.getMessage() for one in caplog.records if "stays as it is" in one.getMessage()]
    assert "is beyond the limits of the lock" in said


def test_scores_of_classes_in_another_order_are_refused(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The numbers are the same, so only what they are about tells the versions apart."""
    head, nodes = FILE.split("nodes:\n")
    (folder / "flowers.yaml").write_text(f"{head}nodes:\n{nodes.splitlines()[0]}\nrefresh: {{gate: lock}}\n")
    flowers.lock(folder)
    _, model = running(folder)
    linear = joblib.load(folder / "linear.joblib")
    linear[-1].classes_ = linear[-1].classes_[::-1]
    joblib.dump(linear, folder / "linear.joblib")
    later(folder)
    model.look()
    assert model._events == [names.REFUSED_REFRESHES, names.REFUSED_BY_GATE]
    (said,) = [one.getMessage() for one in caplog.records if "stays as it is" in one.getMessage()]
    assert "the classes of 'one' stand in another order: 2, 1, 0, not 0, 1, 2" in said


def test_models_that_were_only_packed_again_are_taken(folder: Path) -> None:
    handler, model = running(folder)
    before = score(handler, model)
    for at in range(4):
        for name in ("linear", "forest", "words"):
            found = joblib.load(folder / f"{name}.joblib")
            joblib.dump(pickle.loads(pickle.dumps(found, 2 + at)), folder / f"{name}.joblib", compress=at)
        later(folder)
        model.look()
        assert model._events == [names.REFRESHES]
        model._events.clear()
        assert score(handler, model) == before


def test_a_change_that_was_locked_is_taken(folder: Path) -> None:
    handler, model = running(folder)
    before = score(handler, model)
    joblib.dump(flowers.linear(X[:, ::-1]), folder / "linear.joblib")
    later(folder)
    model.look()
    assert score(handler, model) == before
    flowers.lock(folder)
    model.look()
    assert score(handler, model) != before


@pytest.fixture
def in_stages(folder: Path) -> Path:
    """A copy whose nodes run in four stages."""
    text = GATED.replace("forest: {", "forest: {stage: own, ").replace("  vote:", "  vote:\n    stage: own")
    (folder / "flowers.yaml").write_text(text)
    return folder


class Stages:
    """The stages of a pipeline, each loaded on a worker of its own."""

    def __init__(self, folder: Path) -> None:
        self.handlers = handlers(folder)
        self.loaded = [handler.load_model() for handler in self.handlers]

    def begin(self) -> Any:
        """Returns a batch that the first stage has scored."""
        (batch,) = self.handlers[0].run_inference(RowBatch([ROW]), self.loaded[0])
        return batch

    def finish(self, batch: Any) -> Any:
        """Returns what the later stages make of a batch."""
        for handler, model in zip(self.handlers[1:], self.loaded[1:], strict=True):
            (batch,) = handler.run_inference(batch, model)
        return batch.ok[0]

    def score(self) -> Any:
        return self.finish(self.begin())


STAGED = ("swapped features", "shifted inputs", "swapped members", "a truncated vocabulary", "other weights")
"""Changes of the models and nodes of each of the stages."""


@pytest.mark.parametrize("name", STAGED)
def test_the_first_of_several_stages_refuses_for_all(
    name: str, in_stages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stages = Stages(in_stages)
    assert len(stages.handlers) == 4
    before = stages.score()
    staged = (in_stages / "flowers.yaml").read_text()
    CHANGES[name][1](in_stages)
    if name == "other weights":
        (in_stages / "flowers.yaml").write_text(staged.replace("weights: [3, 2, 1]", "weights: [1, 2, 3]"))
    later(in_stages)
    stages.loaded[0].look()
    assert stages.loaded[0]._events == [names.REFUSED_REFRESHES, names.REFUSED_BY_GATE]
    assert stages.score() == before
    assert not any(model._events for model in stages.loaded[1:]), "the later ones do not look"
    assert "is beyond the limits of the lock" in caplog.text


def test_later_stages_load_what_the_first_has_taken_and_keep_the_one_before(in_stages: Path) -> None:
    stages = Stages(in_stages)
    old = stages.begin()
    before = stages.score()
    for bad in (flowers.forest(X + 0.3), flowers.forest(X * 10)):
        joblib.dump(bad, in_stages / "forest.joblib")
        later(in_stages)
        stages.loaded[0].look()
        assert stages.score() == before
    joblib.dump(flowers.forest(trees=3, seed=9), in_stages / "forest.joblib")
    (in_stages / "flowers.lock.yaml").unlink()
    flowers.lock(in_stages)
    later(in_stages)
    stages.loaded[0].look()
    after = stages.score()
    assert after != before
    assert stages.finish(old) == before


def test_a_worker_that_starts_with_refused_models_does_not_score_with_them(folder: Path) -> None:
    (handler,) = handlers(folder)
    joblib.dump(flowers.linear(X[:, ::-1]), folder / "linear.joblib")
    later(folder)
    with pytest.raises(EnsembleError) as error:
        handler.load_model()
    text = "ensemble 'flowers' has changed since its pipeline was made, and cannot go on: a new version is beyond"
    assert str(error.value).startswith(text)


def test_a_worker_that_starts_beside_refused_models_goes_on_with_the_old_ones(folder: Path) -> None:
    os.rename(folder / "linear.joblib", folder / "linear-1.joblib")
    (folder / "flowers.yaml").write_text(GATED.replace("linear.joblib", "linear-*.joblib"))
    handler, model = running(folder)
    before = score(handler, model)
    joblib.dump(flowers.linear(X[:, ::-1]), folder / "linear-2.joblib")
    assert score(handler, handler.load_model()) == before


def test_a_damaged_lock_lets_nothing_pass(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    handler, model = running(folder)
    before = score(handler, model)
    joblib.dump(flowers.linear(X[:, ::-1]), folder / "linear.joblib")
    (folder / "flowers.lock.parquet").unlink()
    later(folder)
    model.look()
    assert model._events == [names.REFUSED_REFRESHES]
    assert score(handler, model) == before
    assert "cannot be read" in caplog.text


def _only_numbers(folder: Path) -> None:
    """Locks an ensemble that adds one number, and asks for a gate without a limit on it."""
    (folder / "flowers.yaml").write_text(
        'ensemble: flowers\ninputs: {x: "array<double>[4]"}\nnodes:\n'
        '  sum: {apply: sql, select: {first: "x[1] + 1"}, outputs: {first: "double?"}}\nrefresh: {gate: lock}\n'
    )
    flowers.lock(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "flowers.lock.yaml").unlink(), "cannot be read"),
        (lambda folder: (folder / "flowers.lock.yaml").write_text("{}"), "is not a lock"),
        (_only_numbers, "no output of the ensemble has a label or a score per class; say with 'max_shift'"),
    ],
)
def test_a_gate_without_a_lock_is_refused_when_the_pipeline_is_made(
    change: Any, said: str, folder: Path
) -> None:
    change(folder)
    with pytest.raises(InvalidEnsemble) as error:
        running(folder)
    (problem,) = error.value.problems
    assert (problem.code, problem.path) == ("wrong_config", "refresh.gate")
    assert said in problem.message


@pytest.mark.parametrize(
    ("refresh", "path", "code"),
    [
        ("3", "refresh", "wrong_type"),
        ("{}", "refresh.gate", "bad_value"),
        ("{gate: open}", "refresh.gate", "bad_value"),
        ("{gate: lock, limit: 3}", "refresh.limit", "unknown_key"),
        ("{gate: lock, max_label_changes: 2}", "refresh.max_label_changes", "bad_value"),
        ("{gate: lock, max_label_changes: many}", "refresh.max_label_changes", "bad_value"),
        ("{gate: lock, max_label_changes: 101%}", "refresh.max_label_changes", "bad_value"),
        ("{gate: lock, max_shift: 3}", "refresh.max_shift", "wrong_type"),
        ("{gate: lock, max_shift: {confidenc: 1}}", "refresh.max_shift.confidenc", "unknown_column"),
        ("{gate: lock, max_shift: {confidence: -1}}", "refresh.max_shift.confidence", "bad_value"),
        ("{gate: lock, max_shift: {confidence: .nan}}", "refresh.max_shift.confidence", "bad_value"),
    ],
)
def test_what_is_wrong_with_the_key_is_said_at_its_place(
    refresh: str, path: str, code: str, folder: Path
) -> None:
    (folder / "flowers.yaml").write_text(f"{FILE}refresh: {refresh}\n")
    with pytest.raises(InvalidEnsemble) as error:
        running(folder)
    assert [(one.path, one.code) for one in error.value.problems] == [(path, code)]


def test_golden_rows_that_nobody_vouches_for_are_not_read(folder: Path) -> None:
    files = Files(os.fspath(folder), (os.sep,))
    graph = check_text(GATED, KINDS, files)
    uri = os.fspath(folder / "flowers.yaml")
    assert Watch.of(graph, files, {}, uri, 60).gate is not None
    for place in ((), ("/elsewhere",)):
        with pytest.raises(InvalidEnsemble, match="is not in one; start the service with --trust"):
            Watch.of(graph, Files(os.fspath(folder), place), {}, uri, 60)
    with pytest.raises(InvalidEnsemble, match="name the file instead of sending its text"):
        Watch.of(graph, files, {}, None, 60)
