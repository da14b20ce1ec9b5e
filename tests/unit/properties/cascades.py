"""Drives the stages of a cascade by hand: bundles of batches, rows gathered between the stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.timestamp import Timestamp
from apache_beam.utils.windowed_value import WindowedValue

from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.graph import EnsembleGraph, plan
from beam_ensembles.graph.planning import Gathering
from beam_ensembles.handlers.support.beam_config import batch_limit
from beam_ensembles.runtime.fuller_batches import Gather
from beam_ensembles.runtime.stage_handler import StageModelHandler
from tests.unit.properties.plain import Outcome, Row
from tests.unit.properties.ways import codes, elements_of, in_order, outcomes_of


def by_stages(graph: EnsembleGraph, rows: Sequence[Row], batch: int, bundle: int) -> Outcome:
    """Scores rows.

    Args:
        graph: The ensemble.
        rows: The rows.
        batch: How many rows come together at first.
        bundle: How many batches are a bundle.
    """
    elements = elements_of(rows)
    batches: list[Any] = [RowBatch(elements[at : at + batch]) for at in range(0, len(elements), batch)]
    for stage, code in zip(plan(graph).stages, codes(graph, fused=False), strict=True):
        if stage.gathering is not None:
            batches = _gathered(stage.gathering, batches, bundle)
        handler = StageModelHandler(code)
        model = handler.load_model()
        batches = [result for one in batches for result in handler.run_inference(one, model)]
    return in_order([outcome for one in batches for outcome in outcomes_of(graph, one)], len(rows))


def _gathered(gathering: Gathering, batches: Sequence[Any], bundle: int) -> list[Any]:
    gather = Gather(gathering.node, batch_limit(gathering.node) or 1024)
    gather.setup()
    found: list[Any] = []
    for start in range(0, len(batches), bundle):
        gather.start_bundle()
        for one in batches[start : start + bundle]:
            found += gather.process(one, Timestamp(0), GlobalWindow())
        found += gather.finish_bundle()
    return [one.value if isinstance(one, WindowedValue) else one for one in found]
