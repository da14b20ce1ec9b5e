"""Scores handwritten digits: reads JSON lines, adds what the ensemble says of each image, writes JSON lines.

    python examples/digits/pipeline.py --input build/demo/heldout.jsonl --output build/scored.jsonl

Flags that are not its own are the runner's, such as ``--runner PrismRunner``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.transforms import RunEnsemble

HERE = Path(__file__).resolve().parent
ADDED = ("label", "confidence", "forest_label", "boost_label", "network_label")


Image = RowTypeConstraint.from_fields([("id", int), ("pixels", Sequence[float])])
"""One image of the input: its fields' names and types are what the ensemble binds to. Not a class of this program,
which workers elsewhere do not have."""


def read_image(line: str) -> beam.Row:
    """Reads one line of the input."""
    image = json.loads(line)
    return beam.Row(id=image["id"], pixels=[float(pixel) for pixel in image["pixels"]])


def write_scored(row: Any) -> str:
    """Writes one line of the output: the image's id and what the ensemble added."""
    return json.dumps({name: getattr(row, name) for name in ("id", *ADDED)})


def build_pipeline(pipeline: beam.Pipeline, images: str, scored: str, ensemble: str) -> None:
    """Puts the steps together: read, score, write."""
    _ = (
        pipeline
        | "Read" >> beam.io.ReadFromText(images)
        | "Image" >> beam.Map(read_image).with_output_types(Image)
        | RunEnsemble(ensemble)
        | "Line" >> beam.Map(write_scored)
        | "Write" >> beam.io.WriteToText(scored, num_shards=1, shard_name_template="")
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="JSON lines with 'id' and 'pixels'")
    parser.add_argument("--output", required=True, help="file to write, JSON lines too")
    parser.add_argument("--ensemble", default=str(HERE / "digits.yaml"), help="ensemble file (%(default)s)")
    flags, runner_flags = parser.parse_known_args(argv)
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        build_pipeline(pipeline, flags.input, flags.output, flags.ensemble)


if __name__ == "__main__":
    main()
