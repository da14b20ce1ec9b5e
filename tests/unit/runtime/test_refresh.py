"""New files are taken as a whole, between two batches, or not at all."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import joblib
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.errors import EnsembleError
from beam_ensembles.execution.files_digest import digest_of
from beam_ensembles.runtime.between_stages import InFlight
from beam_ensembles.runtime.loading import graph_of_file
from beam_ensembles.runtime.refresh import RefreshedStage
from beam_ensembles.runtime.stage_handler import StageModelHandler
from beam_ensembles.transforms import RunEnsemble
from tests.support.patience import SECONDS, wait_until

TEXT = """
ensemble: times
inputs: {x: double}
nodes:
  first: {model: sklearn, uri: first.joblib, inputs: [x], outputs: {one: double}}
  second: {model: sklearn, uri: second.joblib, inputs: [x], outputs: {two: double}SECOND}
"""


def save(path: Path, slope: float) -> None:
    model = LinearRegression()
    model.coef_, model.intercept_, model.n_features_in_ = np.array([slope]), 0.0, 1
    whole = path.with_suffix(".new")
    joblib.dump(model, whole)
    os.replace(whole, path)
    os.utime(path, ns=(time.time_ns(), time.time_ns()))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for name in ("first", "second"):
        save(tmp_path / f"{name}.joblib", 1.0)
    path = tmp_path / "times.yaml"
    path.write_text(TEXT.replace("SECOND", ""))
    return path


def handlers_of(file: Path, interval: float = 3600.0, **more: Any) -> list[StageModelHandler]:
    """Returns the handlers of the stages of a pipeline."""
    pipeline = beam.Pipeline()
    rows = pipeline | beam.Create([beam.Row(x=1.0)])
    rows | RunEnsemble(file, refresh_interval_secs=interval, **more)  # type: ignore[operator]
    found: list[StageModelHandler] = []

    class Visitor(beam.pipeline.PipelineVisitor):
        def visit_transform(self, node: Any) -> None:
            fn = getattr(node.transform, "fn", None)
            handler = getattr(fn, "_model_handler", None)
            if handler is not None:
                found.append(handler)

    pipeline.visit(Visitor())
    return found


def stage_handler(handler: Any) -> Any:
    """Beam wraps what RunInference is given."""
    while not isinstance(handler, StageModelHandler):
        handler = handler._base
    return handler


def loaded(file: Path, **more: Any) -> tuple[Any, Any]:
    (handler,) = map(stage_handler, handlers_of(file, **more))
    return handler, handler.load_model()


def score(handler: Any, model: Any, x: float = 2.0) -> Any:
    (result,) = handler.run_inference(RowBatch([beam.Row(x=x)]), model)
    return result.ok[0]


def test_all_members_change_together(file: Path) -> None:
    handler, model = loaded(file)
    assert (score(handler, model).one, score(handler, model).two) == (2.0, 2.0)
    for name in ("first", "second"):
        save(file.parent / f"{name}.joblib", 5.0)
    assert score(handler, model).one == 2.0, "nothing changes between looks"
    model.look()
    assert (score(handler, model).one, score(handler, model).two) == (10.0, 10.0)


def test_the_file_is_read_anew(file: Path) -> None:
    handler, model = loaded(file, provenance=True)
    before = score(handler, model).provenance.digest
    assert before == digest_of(graph_of_file(file))
    save(file.parent / "third.joblib", 7.0)
    file.write_text(TEXT.replace("SECOND", "").replace("first.joblib", "third.joblib"))
    model.look()
    row = score(handler, model)
    assert (row.one, row.two) == (14.0, 2.0)
    assert row.provenance.digest == digest_of(graph_of_file(file)) != before


def test_the_newest_match_of_a_pattern(file: Path) -> None:
    file.write_text(TEXT.replace("SECOND", "").replace("first.joblib", "line-*.joblib"))
    save(file.parent / "line-2.joblib", 2.0)
    handler, model = loaded(file)
    assert score(handler, model).one == 4.0
    save(file.parent / "line-1.joblib", 3.0)
    model.look()
    assert score(handler, model).one == 6.0


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("ensemble", "ensemlbe"),
        lambda text: text.replace("{two: double}", "{two: float}"),
        lambda text: text.replace("two", "three"),
        lambda text: text.replace("inputs: [x], outputs: {one", "stage: own, inputs: [x], outputs: {one"),
        lambda text: text.replace("second.joblib", "nowhere.joblib"),
    ],
    ids=["wrong", "type", "column", "stages", "missing"],
)
def test_what_does_not_fit_is_refused(
    file: Path, change: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    handler, model = loaded(file)
    file.write_text(change(file.read_text()))
    for name in ("first", "second"):
        save(file.parent / f"{name}.joblib", 5.0)
    model.look()
    model.look()
    assert (score(handler, model).one, score(handler, model).two) == (2.0, 2.0)
    assert caplog.text.count("ensemble 'times' stays as it is") == 1, "once for each change"


def test_after_a_refusal_the_next_good_one_is_taken(file: Path) -> None:
    handler, model = loaded(file)
    (file.parent / "first.joblib").write_bytes(b"half of a mod")
    model.look()
    assert score(handler, model).one == 2.0
    save(file.parent / "first.joblib", 4.0)
    model.look()
    assert score(handler, model).one == 8.0


def test_files_that_changed_before_the_worker_started(file: Path) -> None:
    (handler,) = map(stage_handler, handlers_of(file))
    save(file.parent / "first.joblib", 3.0)
    assert score(handler, handler.load_model()).one == 6.0


def test_a_worker_that_starts_needs_no_models_that_are_gone(file: Path) -> None:
    file.write_text(TEXT.replace("SECOND", "").replace("first.joblib", "line-*.joblib"))
    save(file.parent / "line-1.joblib", 3.0)
    (handler,) = map(stage_handler, handlers_of(file))
    save(file.parent / "line-2.joblib", 4.0)
    (file.parent / "line-1.joblib").unlink()
    assert score(handler, handler.load_model()).one == 8.0


def test_a_worker_that_starts_with_broken_files_says_so(file: Path) -> None:
    (handler,) = map(stage_handler, handlers_of(file))
    file.write_text("ensemble: times")
    save(file.parent / "first.joblib", 3.0)
    with pytest.raises(EnsembleError, match="has changed since its pipeline was made, and cannot go on: "):
        handler.load_model()


def test_it_looks_by_itself(file: Path) -> None:
    handler, model = loaded(file, interval=0.05)
    save(file.parent / "first.joblib", 3.0)
    wait_until(lambda: score(handler, model).one == 6.0)


def test_nobody_looks_for_a_stage_that_is_gone(file: Path) -> None:
    _, model = loaded(file, interval=0.01)
    lookers = [thread for thread in threading.enumerate() if thread.name == "refresh"]
    del model
    gc.collect()
    for thread in lookers:
        thread.join(SECONDS)
        assert not thread.is_alive()


def test_a_batch_is_scored_by_one_version_in_all_stages(file: Path) -> None:
    file.write_text(TEXT.replace("SECOND", ", stage: own"))
    first, second = map(stage_handler, handlers_of(file))
    one, two = first.load_model(), second.load_model()
    assert isinstance(one, RefreshedStage)
    (old,) = first.run_inference(RowBatch([beam.Row(x=2.0)]), one)
    for name in ("first", "second"):
        save(file.parent / f"{name}.joblib", 5.0)
    one.look()
    (new,) = first.run_inference(RowBatch([beam.Row(x=2.0)]), one)
    assert isinstance(old, InFlight)
    assert old.digest != new.digest
    for batch, factor in ((new, 5.0), (old, 1.0), (new, 5.0)):
        (result,) = second.run_inference(batch, two)
        (row,) = result.ok
        assert (row.one, row.two) == (2 * factor, 2 * factor), "no mixture"


def test_a_version_that_nobody_can_read_any_more(file: Path) -> None:
    file.write_text(TEXT.replace("SECOND", ", stage: own"))
    first, second = map(stage_handler, handlers_of(file))
    one, two = first.load_model(), second.load_model()
    save(file.parent / "second.joblib", 5.0)
    one.look()
    (lost,) = first.run_inference(RowBatch([beam.Row(x=2.0)]), one)
    save(file.parent / "second.joblib", 6.0)
    with pytest.raises(EnsembleError, match="is gone: its files changed again"):
        list(second.run_inference(lost, two))


def test_a_later_stage_that_starts_mixes_no_versions(file: Path) -> None:
    """Its own file was replaced while the first stage goes on with the version before."""
    file.write_text(TEXT.replace("SECOND", ", stage: own"))
    first, second = map(stage_handler, handlers_of(file))
    one = first.load_model()
    (old,) = first.run_inference(RowBatch([beam.Row(x=2.0)]), one)
    save(file.parent / "second.joblib", 5.0)
    with pytest.raises(EnsembleError, match="is gone: its files changed again"):
        list(second.run_inference(old, second.load_model()))
    one.look()
    (new,) = first.run_inference(RowBatch([beam.Row(x=2.0)]), one)
    (result,) = second.run_inference(new, second.load_model())
    assert (result.ok[0].one, result.ok[0].two) == (2.0, 10.0)
