"""Names handwritten digits by a champion or, for a tenth of the users, by its challenger: JSON lines in and out.

    python examples/ab_test/pipeline.py --input build/examples/ab_test/rows.jsonl --output scored.jsonl

Flags that are not its own are the runner's, such as ``--runner PrismRunner``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.metrics import MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble

ENSEMBLE = Path(__file__).resolve().parent / "ab_test.yaml"


class Image(NamedTuple):
    """A row of the input: an image, who sent it, and which digit it really is."""

    id: int
    user: str
    pixels: Sequence[float]
    truth: int


def read_image(line: str) -> Image:
    """Reads one line of the input."""
    return Image(**json.loads(line))


def write_scored(row: Any) -> str:
    """Writes one line of the output: which arm the row took, and the digit that its model names."""
    return json.dumps({"id": row.id, "truth": row.truth, "arm": row.arm, "digit": row.digit})


def main() -> None:
    """Runs the pipeline, and says how often the shadow agreed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="JSON lines with id, user, pixels, truth")
    parser.add_argument("--output", required=True, help="file to write, JSON lines too")
    parser.add_argument("--ensemble", default=str(ENSEMBLE), help="ensemble file (%(default)s)")
    flags, runner_flags = parser.parse_known_args()

    pipeline = beam.Pipeline(options=PipelineOptions(runner_flags))
    _ = (
        pipeline
        | "Read" >> beam.io.ReadFromText(flags.input)
        | "Image" >> beam.Map(read_image).with_output_types(Image)
        | RunEnsemble(flags.ensemble)
        | "Line" >> beam.Map(write_scored)
        | "Write" >> beam.io.WriteToText(flags.output, num_shards=1, shard_name_template="")
    )
    result = pipeline.run()
    result.wait_until_finish()
    of_the_shadow = MetricsFilter().with_namespace("ab_test/shadow")
    counted = {
        found.key.metric.name: found.result for found in result.metrics().query(of_the_shadow)["counters"]
    }
    print(f"the shadow agreed {counted['agreements']} times, disagreed {counted['disagreements']} times")


if __name__ == "__main__":
    main()
