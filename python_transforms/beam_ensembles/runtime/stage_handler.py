"""The stage as a ``ModelHandler``: what Beam's RunInference loads, shares and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.columns.arrow_batch import ArrowReader, Element
from beam_ensembles.columns.arrow_rows import ArrowRows
from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.execution.growing_stage import Stage, load_stage
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.graph.kinds import added_by
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime import version_guard
from beam_ensembles.runtime.arrow_source import ArrowSource
from beam_ensembles.runtime.batch_groups import Group, GroupScoring
from beam_ensembles.runtime.between_stages import InFlight, Source
from beam_ensembles.runtime.refresh import RefreshedStage, Watch
from beam_ensembles.runtime.row_source import RowSource

base = inference_imports.import_base()


class _StageHandler(base.ModelHandler):  # type: ignore[misc, name-defined]
    """What RunInference asks of a stage, whatever its batches are. Rows that fail are in the result, never raised.

    Args:
        code: What the stage does.
        watch: The files to check for newer versions, if any.
    """

    def __init__(self, code: StageCode, watch: Watch | None = None) -> None:
        super().__init__()
        self._code, self._watch = code, watch

    def load_model(self) -> Stage | RefreshedStage:
        """Loads every member of the stage, once per worker process."""
        if self._watch is not None:
            return RefreshedStage(self._code, self._watch, self._load)
        return self._load(self._code)

    def _load(self, code: StageCode) -> Stage:
        """Loads the stage as it is in one version."""
        return load_stage(code, this_machine())

    def should_skip_batching(self) -> bool:
        """Batches are made before: Beam's own batching loses the event time of rows."""
        return True

    def share_model_across_processes(self) -> bool:
        """Each process holds the stage; a member that is large is shared by itself."""
        return False

    def override_metrics(self, metrics_namespace: str = "") -> bool:
        """The stage writes the metrics of each node itself."""
        return True

    def get_num_bytes(self, batch: Any) -> int:
        """Beam would pickle the batch to count it; the nodes count the bytes of their columns."""
        return 0

    def get_metrics_namespace(self) -> str:
        """The ensemble's name; nodes add theirs."""
        return self._code.ensemble

    def run_inference(
        self,
        batch: Any,
        model: Stage | RefreshedStage,
        inference_args: Mapping[str, Any] | None = None,
    ) -> Iterable[Any]:
        """Scores one batch; gives the outputs, or what the next stage goes on with."""
        return [self._score(batch, model)]

    def _score(self, batch: Any, model: Stage | RefreshedStage) -> Any:
        code, stage, digest = self._code, model, ""
        if isinstance(stage, RefreshedStage):
            version = stage.version(batch.digest) if isinstance(batch, InFlight) else stage.newest()
            code, stage, digest = version.code, version.stage, version.digest
        if isinstance(batch, InFlight):
            source, columns = batch.source, batch.columns
        else:
            source = self._open(batch)
            columns = source.read(code)
        stage.run(columns)
        if code.alive is not None:
            columns.keep(code.alive)
            return InFlight(source, columns, digest)
        if code.provenance is not None:
            code.provenance.add(columns)
        return source.finish(code, columns)

    def _open(self, batch: Any) -> Source:
        """Returns the rows of an element of the PCollection that the ensemble is applied to."""
        raise NotImplementedError

    def _args(self) -> tuple[Any, ...]:
        """What the handler is made with again on the workers."""
        return (self._code, self._watch)

    def __reduce__(self) -> tuple[Any, ...]:
        guard = version_guard.Check(self._code.ensemble, added_by(self._code.nodes))
        return _restore, (guard, type(self), self._args())  # in this order they are unpickled


class StageModelHandler(_StageHandler):
    """Runs a stage of rows that came one by one: takes a ``RowBatch``, or an ``InFlight`` of the stage before.

    Args:
        code: What the stage does.
        watch: The files to check for newer versions, if any.
    """

    def _open(self, batch: RowBatch) -> Source:
        return RowSource(batch)


class ArrowStageHandler(_StageHandler):
    """Runs a stage of rows in Arrow: takes an element that holds a record batch, a ``Group`` or an ``InFlight``.

    Args:
        code: What the stage does.
        rows: What the record batches of both sides hold.
        watch: The files to check for newer versions, if any.
    """

    def __init__(self, code: StageCode, rows: ArrowRows, watch: Watch | None = None) -> None:
        super().__init__(code, watch)
        self._rows = rows
        self._reader = ArrowReader(rows)
        self._groups = GroupScoring()

    def run_inference(
        self,
        batch: Any,
        model: Stage | RefreshedStage,
        inference_args: Mapping[str, Any] | None = None,
    ) -> Iterable[Any]:
        """Scores one batch, or those of a group; gives the outputs, or what the next stage goes on with."""
        if isinstance(batch, Group):
            return [
                self._groups.each(lambda element: self._score(element, model), batch, this_machine().cores)
            ]
        return super().run_inference(batch, model, inference_args)

    def _load(self, code: StageCode) -> Stage:
        return load_stage(code, this_machine(), arrow=True)

    def _open(self, batch: Element) -> Source:
        return ArrowSource(self._reader.read(batch))

    def _args(self) -> tuple[Any, ...]:
        return (self._code, self._rows, self._watch)


def _restore(_: None, handler: type[_StageHandler], args: tuple[Any, ...]) -> _StageHandler:
    """Rebuilds the handler on a worker, where the check before it has found the sender's versions."""
    return handler(*args)
