"""Turns a plan into Beam transforms: each stage batches rows, runs RunInference and gives rows back."""

from __future__ import annotations

from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import GlobalWindows

from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.graph.planning import Plan, Stage
from beam_ensembles.handlers import beam_compat
from beam_ensembles.runtime.batch_coder import register_batch_types
from beam_ensembles.runtime.batching import BatchGlobally, BatchPerWindow, Unbatch
from beam_ensembles.runtime.scoring import BatchResult, StageCode
from beam_ensembles.runtime.stage_handler import StageModelHandler
from beam_ensembles.transforms.binding import Binding, CallOptions, bind
from beam_ensembles.transforms.config import OUTPUT
from beam_ensembles.transforms.row_forms import input_rows

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


class _RunStage(beam.PTransform[Any, Any]):
    """One stage: a composite, so that resource hints cover all its parts."""

    def __init__(self, graph: EnsembleGraph, stage: Stage, binding: Binding, errors: str | None) -> None:
        super().__init__()
        self._graph, self._stage, self._binding, self._errors = graph, stage, binding, errors

    def expand(self, pcoll: beam.PCollection[Any]) -> dict[str, beam.PCollection[Any]]:
        name, outputs = self._graph.spec.name, self._binding.outputs
        code = StageCode(name, self._stage.nodes, self._binding.inputs, self._graph.outputs, outputs.form)
        in_global_window = isinstance(pcoll.windowing.windowfn, GlobalWindows)
        batch = BatchGlobally() if in_global_window else BatchPerWindow()
        register_batch_types()
        batches = pcoll | "Batch" >> beam.ParDo(batch).with_output_types(RowBatch)
        results = batches | "RunInference" >> base.RunInference(StageModelHandler(code))
        results.element_type = BatchResult
        unbatch = beam.ParDo(Unbatch(name, self._errors))
        if self._errors is None:
            return {OUTPUT: results | "Unbatch" >> unbatch.with_output_types(outputs.hint)}
        both = results | "Unbatch" >> unbatch.with_outputs(self._errors, main=OUTPUT)
        both[OUTPUT].element_type = outputs.hint
        both[self._errors].element_type = outputs.errors_hint
        return {OUTPUT: both[OUTPUT], self._errors: both[self._errors]}
