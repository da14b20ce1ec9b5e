"""A pipeline slow enough that something can be killed in its middle: the digits ensemble over many images.

    python tests/integration/flink/paced.py --images heldout.jsonl --copies 100 --progress DIR --output FILE

Each image comes ``--copies`` times, under ids of its own; a few of them have a pixel too few, so that they end in the
error output. A worker notes below ``--progress``, in a file named after its process, how many rows it has seen.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.transforms import RunEnsemble

ENSEMBLE = Path(__file__).resolve().parents[3] / "examples" / "digits" / "digits.yaml"
BROKEN = 7
"""Of every hundred ids, the one whose image lacks a pixel."""


Padded = tuple[int, list[float], bytes]
"""An id, pixels, and what makes it as large as it is to be."""
Image = RowTypeConstraint.from_fields([("id", int), ("pixels", Sequence[float])])


def copies(copy: int, images: str, padding: int) -> Iterator[Padded]:
    """Yields all images under ids that no other copy has."""
    with open(images, encoding="utf-8") as lines:
        for at, line in enumerate(lines):
            number = copy * 1_000 + at
            pixels = [float(pixel) for pixel in json.loads(line)["pixels"]]
            yield number, pixels[1:] if number % 100 == BROKEN else pixels, bytes(padding)


class Pace(beam.DoFn):
    """Passes rows on slowly, and prints how many have come."""

    def __init__(self, progress: str, rows: int, seconds: float) -> None:
        self._progress = progress
        self._rows = rows
        self._seconds = seconds
        self._seen = 0

    def process(self, image: Padded) -> Iterator[Padded]:
        self._seen += 1
        if self._seen % self._rows == 0:
            Path(self._progress, str(os.getpid())).write_text(str(self._seen), encoding="ascii")
            time.sleep(self._seconds)
        yield image


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", required=True)
    parser.add_argument("--copies", type=int, required=True)
    parser.add_argument("--progress", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--padding", type=int, default=0, help="bytes added to each image on its way")
    parser.add_argument("--rows", type=int, default=500, help="rows between two pauses")
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a pause")
    flags, runner_flags = parser.parse_known_args(argv)
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        images = (
            pipeline
            | beam.Create(range(flags.copies))
            | beam.FlatMap(copies, flags.images, flags.padding)
            # From here on the runner sends rows to the worker: what hangs when the worker dies.
            | beam.Reshuffle()
            | beam.ParDo(Pace(flags.progress, flags.rows, flags.seconds))
            | beam.MapTuple(lambda number, pixels, _: beam.Row(id=number, pixels=pixels)).with_output_types(
                Image
            )
        )
        scored, errors = images | RunEnsemble(ENSEMBLE).with_errors()
        lines = (
            scored | "Scored" >> beam.Map(lambda row: f"{row.id} scored {row.label}"),
            errors | "Error" >> beam.Map(lambda row: f"{row.element.id} error {row.code}"),
        )
        _ = lines | beam.Flatten() | beam.io.WriteToText(flags.output)


if __name__ == "__main__":
    main()
