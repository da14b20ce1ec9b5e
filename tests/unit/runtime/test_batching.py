"""A batch of rows of several event times."""

from __future__ import annotations

from typing import Any

import apache_beam as beam
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.runtime.batching import BatchGlobally, BatchPerWindow


def test_a_batch_has_the_time_of_its_oldest_row() -> None:
    """Where a runner shuffles batches, that is where it holds the watermark for their rows."""

    class Times(beam.DoFn):
        def process(self, batch: RowBatch, time: Any = beam.DoFn.TimestampParam) -> None:
            assert time.micros == min(batch.micros or [time.micros])
            assert len(batch) > 1

    with beam.Pipeline() as pipeline:
        rows = pipeline | beam.Create([TimestampedValue(at, at) for at in (7, 3, 9, 13, 12)], reshuffle=False)
        _ = (
            rows
            | beam.ParDo(BatchGlobally(2))
            | beam.Filter(lambda batch: len(batch) > 1)
            | beam.ParDo(Times())
        )
        windowed = rows | beam.WindowInto(FixedWindows(10))
        _ = windowed | beam.ParDo(BatchPerWindow()) | "Windowed" >> beam.ParDo(Times())
