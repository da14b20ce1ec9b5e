"""Turns a plan into Beam transforms: each stage batches rows, runs RunInference and gives rows back."""

from __future__ import annotations

from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam.transforms.window import GlobalWindows

from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.graph.planning import Plan, Stage
from beam_ensembles.handlers import beam_compat
from beam_ensembles.runtime.arrow_scoring import ArrowResult, EmitArrow
from beam_ensembles.runtime.batch_coder import register_batch_types
from beam_ensembles.runtime.batching import BatchGlobally, BatchPerWindow, Unbatch
from beam_ensembles.runtime.scoring import BatchResult, StageCode
from beam_ensembles.runtime.stage_handler import ArrowStageHandler, StageModelHandler
from beam_ensembles.transforms.binding import Binding, CallOptions, arrow_rows, bind
from beam_ensembles.transforms.config import OUTPUT
from beam_ensembles.transforms.row_forms import InputRows, input_rows

base = beam_compat.import_base()


def run_plan(
    pcoll: beam.PCollection[Any], graph: EnsembleGraph, plan: Plan, call: CallOptions, errors: str | None
) -> dict[str, beam.PCollection[Any]]:
    """Applies an ensemble to a PCollection.

    Args:
        pcoll: The rows.
        graph: The checked ensemble.
        plan: Its stages.
        call: What the caller says beside the ensemble.
        errors: Tag of the error output, or None: a bad row fails its bundle.

    Returns:
        The outputs by tag.

    Raises:
        InvalidEnsemble: The rows are not what the ensemble reads.
    """
    binding = bind(graph, input_rows(pcoll.element_type), call)
    (stage,) = plan.stages
    outputs: dict[str, beam.PCollection[Any]]
    outputs = pcoll | f"Stage({stage.name})" >> _RunStage(graph, stage, binding, errors)
    return outputs


def run_plan_on_arrow(
    pcoll: beam.PCollection[Any],
    rows: InputRows,
    graph: EnsembleGraph,
    plan: Plan,
    call: CallOptions,
    errors: str | None,
    announced: pa.Schema | None = None,
) -> dict[str, beam.PCollection[Any]]:
    """Applies an ensemble to a PCollection of Arrow record batches: ``run_plan`` otherwise.

    Args:
        pcoll: Elements are Arrow IPC streams of one record batch or, in a Python pipeline, record batches or tables.
        rows: The rows in them.
        graph: The checked ensemble.
        plan: Its stages.
        call: What the caller says beside the ensemble.
        errors: Tag of the error output, or None: a bad row fails its bundle.
        announced: The schema of record batches in a Python pipeline.

    Returns:
        The outputs by tag; their elements are what the input's are.

    Raises:
        InvalidEnsemble: The rows are not what the ensemble reads.
    """
    binding = bind(graph, rows, call)
    (stage,) = plan.stages
    code = _code(graph, stage, binding)
    handler = ArrowStageHandler(code, arrow_rows(rows, graph, binding, announced))
    outputs: dict[str, beam.PCollection[Any]]
    outputs = pcoll | f"Stage({stage.name})" >> _RunArrowStage(code.ensemble, handler, errors)
    return outputs


def _code(graph: EnsembleGraph, stage: Stage, binding: Binding) -> StageCode:
    return StageCode(graph.spec.name, stage.nodes, binding.inputs, graph.outputs, binding.outputs.form)


class _RunStage(beam.PTransform[Any, Any]):
    """One stage: a composite, so that resource hints cover all its parts."""

    def __init__(self, graph: EnsembleGraph, stage: Stage, binding: Binding, errors: str | None) -> None:
        super().__init__()
        self._graph, self._stage, self._binding, self._errors = graph, stage, binding, errors

    def expand(self, pcoll: beam.PCollection[Any]) -> dict[str, beam.PCollection[Any]]:
        outputs = self._binding.outputs
        code = _code(self._graph, self._stage, self._binding)
        in_global_window = isinstance(pcoll.windowing.windowfn, GlobalWindows)
        batch = BatchGlobally() if in_global_window else BatchPerWindow()
        register_batch_types()
        batches = pcoll | "Batch" >> beam.ParDo(batch).with_output_types(RowBatch)
        results = batches | "RunInference" >> base.RunInference(StageModelHandler(code))
        results.element_type = BatchResult
        unbatch = Unbatch(code.ensemble, self._errors)
        return _emit(results, "Unbatch", unbatch, self._errors, (outputs.hint, outputs.errors_hint))


class _RunArrowStage(beam.PTransform[Any, Any]):
    """One stage over record batches, which are as large as the caller made them."""

    def __init__(self, ensemble: str, handler: ArrowStageHandler, errors: str | None) -> None:
        super().__init__()
        self._ensemble, self._handler, self._errors = ensemble, handler, errors

    def expand(self, pcoll: beam.PCollection[Any]) -> dict[str, beam.PCollection[Any]]:
        register_batch_types()
        results = pcoll | "RunInference" >> base.RunInference(self._handler)
        results.element_type = ArrowResult
        hint = pcoll.element_type
        return _emit(results, "Emit", EmitArrow(self._ensemble, self._errors), self._errors, (hint, hint))


def _emit(
    results: beam.PCollection[Any], label: str, emit: beam.DoFn, errors: str | None, hints: tuple[Any, Any]
) -> dict[str, beam.PCollection[Any]]:
    """Parts scored rows from failed ones."""
    if errors is None:
        return {OUTPUT: results | label >> beam.ParDo(emit).with_output_types(hints[0])}
    both = results | label >> beam.ParDo(emit).with_outputs(errors, main=OUTPUT)
    both[OUTPUT].element_type, both[errors].element_type = hints
    return {OUTPUT: both[OUTPUT], errors: both[errors]}
