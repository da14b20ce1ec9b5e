"""Sorts support tickets; a language model reads those about which a small classifier is unsure. JSON lines in and out.

    python examples/triage/pipeline.py --server http://127.0.0.1:8000/v1 \\
        --input build/examples/triage/rows.jsonl --output sorted.jsonl

Flags that are not its own are the runner's, such as ``--runner PrismRunner``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble

ENSEMBLE = Path(__file__).resolve().parent / "triage.yaml"


class Ticket(NamedTuple):
    """A row of the input."""

    id: int
    ticket: str


def read_ticket(line: str) -> Ticket:
    """Reads one line of the input."""
    return Ticket(**json.loads(line))


def write_sorted(row: Any) -> str:
    """Writes one line of the output."""
    return json.dumps(row._asdict(), ensure_ascii=False)


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="JSON lines with id, ticket")
    parser.add_argument("--output", required=True, help="file to write, JSON lines too")
    parser.add_argument("--ensemble", default=str(ENSEMBLE), help="ensemble file (%(default)s)")
    parser.add_argument("--server", required=True, help="the language model's server: http://HOST:PORT/v1")
    parser.add_argument("--model", default="reader", help="the model's name there (%(default)s)")
    flags, runner_flags = parser.parse_known_args(argv)
    parameters = {"server": flags.server, "model": flags.model}
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        _ = (
            pipeline
            | "Read" >> beam.io.ReadFromText(flags.input)
            | "Ticket" >> beam.Map(read_ticket).with_output_types(Ticket)
            | RunEnsemble(flags.ensemble, parameters=parameters)
            | "Line" >> beam.Map(write_sorted)
            | "Write" >> beam.io.WriteToText(flags.output, num_shards=1, shard_name_template="")
        )


if __name__ == "__main__":
    main()
