"""Multiplies numbers by five: CSV in, JSON lines out.

    python examples/times_five/pipeline.py --input build/examples/times_five/rows.csv --output products.jsonl

Flags that are not its own are the runner's, such as ``--runner PrismRunner``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble

ENSEMBLE = Path(__file__).resolve().parent / "times_five.yaml"


class Number(NamedTuple):
    """A row of the input."""

    id: int
    x: np.float32


def read_number(line: str) -> Number:
    """Reads one line of the input."""
    id_, x = line.split(",")
    return Number(int(id_), np.float32(x))


def write_product(row: Any) -> str:
    """Writes one line of the output."""
    return json.dumps({"id": row.id, "x": float(row.x), "y": float(row.y)})


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--input", required=True, help="CSV with the columns id and x, and a line of their names"
    )
    parser.add_argument("--output", required=True, help="file to write, JSON lines")
    parser.add_argument("--ensemble", default=str(ENSEMBLE), help="ensemble file (%(default)s)")
    flags, runner_flags = parser.parse_known_args(argv)
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        _ = (
            pipeline
            | "Read" >> beam.io.ReadFromText(flags.input, skip_header_lines=1)
            | "Number" >> beam.Map(read_number).with_output_types(Number)
            | RunEnsemble(flags.ensemble)
            | "Line" >> beam.Map(write_product)
            | "Write" >> beam.io.WriteToText(flags.output, num_shards=1, shard_name_template="")
        )


if __name__ == "__main__":
    main()
