"""What a Python pipeline's nodes count, on the runner in the process: known rows, known counts."""

from __future__ import annotations

import apache_beam as beam

from beam_ensembles import RunEnsemble, ensemble_metrics
from tests.support.counted import COUNTS, FILE, ROWS, counts, has_counted_what_is_new


def test_every_node_counts_its_rows() -> None:
    pipeline = beam.Pipeline()
    rows = pipeline | beam.Create([beam.Row(**row) for row in ROWS])
    rows | RunEnsemble(FILE)
    result = pipeline.run()
    result.wait_until_finish()
    (found,) = ensemble_metrics(result)
    assert found.ensemble == "counted"
    assert counts(found.as_data()) == COUNTS
    assert has_counted_what_is_new(found.as_data())
    batches = found.node("twice").inference_request_batch_size
    latency = found.node("twice").inference_batch_latency_micro_secs
    assert batches is not None
    assert latency is not None
    assert latency.count == batches.count
    assert latency.min > 0


def test_a_pipeline_without_ensembles_has_none() -> None:
    pipeline = beam.Pipeline()
    pipeline | beam.Create([1])
    result = pipeline.run()
    result.wait_until_finish()
    assert ensemble_metrics(result) == ()
