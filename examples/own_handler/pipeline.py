"""Reads the digits of cheques, joins them with what a clerk typed, and says what becomes of each.

    python examples/own_handler/pipeline.py --input build/examples/own_handler/rows.jsonl \
        --typed build/examples/own_handler/typed.jsonl --output decisions.jsonl

Two ensembles with the pipeline's own join between them. Flags that are not its own are the runner's.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble

HERE = Path(__file__).resolve().parent


class Image(NamedTuple):
    """A row of the first input."""

    id: int
    pixels: Sequence[float]


class Cheque(NamedTuple):
    """What the second ensemble reads: the digit that was read, how many neighbours say so, the one that was typed."""

    id: int
    digit: int
    votes: np.int32
    typed: int


def read_image(line: str) -> Image:
    """Reads one line of the first input."""
    return Image(**json.loads(line))


def read_typed(line: str) -> tuple[int, int]:
    """Reads one line of the second input, as a key and the digit that was typed."""
    row = json.loads(line)
    return row["id"], row["typed"]


def joined(element: tuple[int, Mapping[str, Iterable[Any]]]) -> Iterator[Cheque]:
    """Puts what was read and what was typed side by side."""
    id_, found = element
    for read in found["read"]:
        for typed in found["typed"]:
            yield Cheque(id_, read.digit, np.int32(read.votes), typed)


def write_decision(row: Any) -> str:
    """Writes one line of the output."""
    return json.dumps({"id": row.id, "digit": row.digit, "typed": row.typed, "decision": row.decision})


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="JSON lines with id, pixels")
    parser.add_argument("--typed", required=True, help="JSON lines with id, typed")
    parser.add_argument("--output", required=True, help="file to write, JSON lines too")
    parser.add_argument(
        "--ensemble", default=str(HERE / "neighbours.yaml"), help="first ensemble (%(default)s)"
    )
    parser.add_argument("--review", default=str(HERE / "review.yaml"), help="second ensemble (%(default)s)")
    flags, runner_flags = parser.parse_known_args(argv)
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        read = (
            pipeline
            | "Images" >> beam.io.ReadFromText(flags.input)
            | "Image" >> beam.Map(read_image).with_output_types(Image)
            | RunEnsemble(flags.ensemble, pass_through=["id"])
            | "Key" >> beam.Map(lambda row: (row.id, row))
        )
        typed = pipeline | "Typed" >> beam.io.ReadFromText(flags.typed) | "Digit" >> beam.Map(read_typed)
        _ = (
            {"read": read, "typed": typed}
            | "Join" >> beam.CoGroupByKey()
            | "Cheque" >> beam.FlatMap(joined).with_output_types(Cheque)
            | RunEnsemble(flags.review)
            | "Line" >> beam.Map(write_decision)
            | "Write" >> beam.io.WriteToText(flags.output, num_shards=1, shard_name_template="")
        )


if __name__ == "__main__":
    main()
