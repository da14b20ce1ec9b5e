"""Turns a plan into Beam transforms: each stage batches rows, runs RunInference and gives rows back."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import apache_beam as beam
import pyarrow as pa
from apache_beam.transforms.window import GlobalWindows

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.columns.arrow_rows import ArrowRows
from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.execution.provenance import Provenance
from beam_ensembles.graph.core_use import batches_beside
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.graph.planning import Plan, Stage, alive_between, plan
from beam_ensembles.runtime.arrow_source import ArrowResult, EmitArrow
from beam_ensembles.runtime.batch_coder import register_batch_types
from beam_ensembles.runtime.batch_groups import Group, GroupBatches, items_of
from beam_ensembles.runtime.batching import DEFAULT_BATCH_SIZE, BatchGlobally, BatchPerWindow, Unbatch
from beam_ensembles.runtime.between_stages import InFlight
from beam_ensembles.runtime.refresh import Watch
from beam_ensembles.runtime.row_source import BatchResult
from beam_ensembles.runtime.stage_handler import ArrowStageHandler, StageModelHandler
from beam_ensembles.transforms.binding import Binding, CallOptions, arrow_rows, bind
from beam_ensembles.transforms.config import OUTPUT
from beam_ensembles.transforms.fuller_batches import gathered
from beam_ensembles.transforms.row_forms import InputRows, input_rows
from beam_ensembles.types import BYTES

base = inference_imports.import_base()


def run_plan(
    pcoll: beam.PCollection[Any], graph: EnsembleGraph, call: CallOptions, errors: str | None
) -> dict[str, beam.PCollection[Any]]:
    """Applies an ensemble to a PCollection.

    Args:
        pcoll: The rows.
        graph: The checked ensemble.
        call: What the caller says beside the ensemble.
        errors: Tag of the error output, or None: a bad row fails its bundle.

    Returns:
        The outputs by tag.

    Raises:
        InvalidEnsemble: The rows are not what the ensemble reads.
    """
    binding = bind(graph, input_rows(pcoll.element_type), call)
    stages = plan(graph)
    ends = _RowEnds(graph.spec.name, binding, errors, _rows_of_a_batch(stages.stages[0].nodes))
    return _run(pcoll, graph, stages, binding, ends, call.watch)


def _rows_of_a_batch(nodes: Sequence[CheckedNode]) -> int:
    """Returns how many rows are put together, at most, of those that come one by one."""
    if any(type_.required() == BYTES for node in nodes for type_ in node.inputs.values()):
        return DEFAULT_BATCH_SIZE  # they may be large
    return max([DEFAULT_BATCH_SIZE, *(node.kind.batch_rows(node) for node in nodes)])


def run_plan_on_arrow(
    pcoll: beam.PCollection[Any],
    rows: InputRows,
    graph: EnsembleGraph,
    binding: Binding,
    watch: Watch | None,
    errors: str | None,
    announced: pa.Schema | None = None,
) -> dict[str, beam.PCollection[Any]]:
    """Applies an ensemble to a PCollection of Arrow record batches: ``run_plan`` otherwise.

    Args:
        pcoll: Elements are Arrow IPC streams of one record batch or, in a Python pipeline, record batches or tables.
        rows: The rows in them.
        graph: The checked ensemble.
        binding: The ensemble bound to these rows.
        watch: The files to check for newer versions of the ensemble, if any.
        errors: Tag of the error output, or None: a bad row fails its bundle.
        announced: The schema of record batches in a Python pipeline.

    Returns:
        The outputs by tag; their elements are what the input's are.
    """
    held = arrow_rows(rows, graph, binding, announced)
    stages = plan(graph)
    grouped = batches_beside(stages.stages)
    ends = _ArrowEnds(graph.spec.name, held, pcoll.element_type, errors, grouped)
    return _run(pcoll, graph, stages, binding, ends, watch)


def _run(
    pcoll: beam.PCollection[Any],
    graph: EnsembleGraph,
    stages: Plan,
    binding: Binding,
    ends: _Ends,
    watch: Watch | None,
) -> dict[str, beam.PCollection[Any]]:
    register_batch_types()
    provenance = Provenance.of(graph)
    found: Any = pcoll
    for at, (stage, alive) in enumerate(
        zip(stages.stages, (*alive_between(graph, stages), None), strict=True)
    ):
        code = StageCode(
            ensemble=graph.spec.name,
            nodes=stage.nodes,
            inputs=binding.inputs,
            outputs=graph.outputs,
            form=binding.outputs.form,
            alive=alive,
            provenance=provenance,
            truncated=graph.spec.truncated,
            written=binding.written,
            profile=graph.profile if at == 0 else None,
        )
        handler = ends.handler(code, watch and dataclasses.replace(watch, stage=at))
        transform: beam.PTransform[Any, Any] = _RunStage(stage, code, ends, handler, is_first=at == 0)
        if stage.resources:
            transform = transform.with_resource_hints(**stage.resources)
        found = found | f"Stage({stage.name})" >> transform
    outputs: dict[str, beam.PCollection[Any]] = found
    return outputs


class _Ends(Protocol):
    """How rows get into the first stage and out of the last one."""

    def begin(self, pcoll: beam.PCollection[Any]) -> beam.PCollection[Any]:
        """Creates the batches that the first stage takes."""

    def handler(self, code: StageCode, watch: Watch | None) -> Any:
        """Returns the handler of a stage."""

    def finish(self, results: beam.PCollection[Any]) -> dict[str, beam.PCollection[Any]]:
        """Creates the outputs by tag of the results of the last stage."""


@dataclasses.dataclass(frozen=True)
class _RowEnds:
    """Rows that come and go one by one."""

    ensemble: str
    binding: Binding
    errors: str | None
    batch_rows: int

    def begin(self, pcoll: beam.PCollection[Any]) -> beam.PCollection[Any]:
        in_global_window = isinstance(pcoll.windowing.windowfn, GlobalWindows)
        size = self.batch_rows
        batch = BatchGlobally(size) if in_global_window else BatchPerWindow(size)
        batches: beam.PCollection[Any] = pcoll | "Batch" >> beam.ParDo(batch).with_output_types(RowBatch)
        return batches

    def handler(self, code: StageCode, watch: Watch | None) -> StageModelHandler:
        return StageModelHandler(code, watch)

    def finish(self, results: beam.PCollection[Any]) -> dict[str, beam.PCollection[Any]]:
        results.element_type = BatchResult
        outputs = self.binding.outputs
        unbatch = Unbatch(self.ensemble, self.errors)
        return _emit(results, "Unbatch", unbatch, self.errors, (outputs.hint, outputs.errors_hint))


@dataclasses.dataclass(frozen=True)
class _ArrowEnds:
    """Record batches, which are as large as the caller made them."""

    ensemble: str
    rows: ArrowRows
    element_type: Any
    errors: str | None
    grouped: bool

    def begin(self, pcoll: beam.PCollection[Any]) -> beam.PCollection[Any]:
        if not self.grouped:
            return pcoll
        groups: beam.PCollection[Any] = pcoll | "Group" >> beam.ParDo(GroupBatches()).with_output_types(Group)
        return groups

    def handler(self, code: StageCode, watch: Watch | None) -> ArrowStageHandler:
        return ArrowStageHandler(code, self.rows, watch)

    def finish(self, results: beam.PCollection[Any]) -> dict[str, beam.PCollection[Any]]:
        if self.grouped:
            results.element_type = Group
            results = results | "Ungroup" >> beam.FlatMap(items_of)
        results.element_type = ArrowResult
        emit = EmitArrow(self.ensemble, self.errors)
        return _emit(results, "Emit", emit, self.errors, (self.element_type, self.element_type))


class _RunStage(beam.PTransform[Any, Any]):
    """One stage: a composite, so that resource hints cover all its parts."""

    def __init__(self, stage: Stage, code: StageCode, ends: _Ends, handler: Any, *, is_first: bool) -> None:
        super().__init__()
        self._stage, self._code, self._ends, self._handler = stage, code, ends, handler
        self._is_first = is_first

    def expand(self, pcoll: beam.PCollection[Any]) -> Any:
        batches = self._ends.begin(pcoll) if self._is_first else gathered(pcoll, self._stage.gathering)
        results = batches | "RunInference" >> base.RunInference(self._handler)
        if self._code.alive is None:
            return self._ends.finish(results)
        results.element_type = InFlight
        return results


def _emit(
    results: beam.PCollection[Any], label: str, emit: beam.DoFn, errors: str | None, hints: tuple[Any, Any]
) -> dict[str, beam.PCollection[Any]]:
    """Parts scored rows from failed ones."""
    if errors is None:
        return {OUTPUT: results | label >> beam.ParDo(emit).with_output_types(hints[0])}
    both = results | label >> beam.ParDo(emit).with_outputs(errors, main=OUTPUT)
    both[OUTPUT].element_type, both[errors].element_type = hints
    return {OUTPUT: both[OUTPUT], errors: both[errors]}
