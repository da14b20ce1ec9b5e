"""What happens to rows before a stage: those that its first node runs on are put together to fuller batches.

Written for Beam 2.77: its ``DirectRunner`` gives pipelines with timers in processing time to its oldest runner, whose
``GroupByKey`` fails on rows that come from timers at the end; it gets none.
"""

from __future__ import annotations

from typing import Any, Final

import apache_beam as beam
from apache_beam.runners.direct.direct_runner import DirectRunner

from beam_ensembles.graph.planning import Gathering
from beam_ensembles.handlers.support.beam_config import batch_size
from beam_ensembles.runtime.batching import DEFAULT_BATCH_SIZE
from beam_ensembles.runtime.between_stages import InFlight
from beam_ensembles.runtime.fuller_batches import Gather
from beam_ensembles.runtime.waiting_rows import WaitForMore

_WAITING: Final = "waiting"
_READY: Final = "ready"


def gathered(batches: beam.PCollection[Any], gathering: Gathering | None) -> beam.PCollection[Any]:
    """Puts rows together within their bundle and, where the node asks for it (``max_wait``), across bundles.

    All rows that wait are in one place, which makes the fullest batches; a bundle has less than one to give. From there
    they are spread over the workers again, so that the model runs on all of them. In windows that merge (sessions)
    every row still has a window of its own here, and could wait for no other: there, and in Beam's ``DirectRunner``,
    rows are put together within their bundle only.

    Args:
        batches: Batches between stages.
        gathering: How batches are gathered; None: not at all.

    Returns:
        The same rows, in other batches.
    """
    if gathering is None:
        return batches
    size = batch_size(gathering.node, DEFAULT_BATCH_SIZE)
    if gathering.max_wait is None or not _can_wait(batches):
        gather = Gather(gathering.node, size)
        found: beam.PCollection[Any] = batches | "Gather" >> beam.ParDo(gather).with_output_types(InFlight)
        return found
    gather = Gather(gathering.node, size, _WAITING)
    outputs = batches | "Gather" >> beam.ParDo(gather).with_outputs(_WAITING, main=_READY)
    outputs[_READY].element_type, outputs[_WAITING].element_type = (
        InFlight,
        beam.typehints.Tuple[str, InFlight],
    )
    wait = beam.ParDo(WaitForMore(size, gathering.max_wait)).with_output_types(InFlight)
    waited = outputs[_WAITING] | "Wait" >> wait | "Spread" >> beam.Reshuffle()
    waited.element_type = InFlight
    together: beam.PCollection[Any] = (outputs[_READY], waited) | "Join" >> beam.Flatten()
    together.element_type = InFlight
    return together


def _can_wait(batches: beam.PCollection[Any]) -> bool:
    return not (batches.windowing.windowfn.is_merging() or isinstance(batches.pipeline.runner, DirectRunner))
