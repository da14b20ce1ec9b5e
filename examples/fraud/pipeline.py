"""Decides whether to accept payments, to block them, or to have somebody look: JSON lines in and out.

    python examples/fraud/pipeline.py --input build/examples/fraud/rows.jsonl --output scored.jsonl

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

ENSEMBLE = Path(__file__).resolve().parent / "fraud.yaml"
DATABASE = "sqlite:///models/accounts.db"
WRITTEN = ("id", "fraud", "decision", "fraud_p", "cheap_p", "forest_p", "unsure", "arm")


class Payment(NamedTuple):
    """A row of the input; ``fraud`` is what it turned out to be, which no model reads."""

    id: int
    account: str
    category: str
    amount: float
    hour: int
    online: bool
    country: str
    fraud: int


def read_payment(line: str) -> Payment:
    """Reads one line of the input."""
    return Payment(**json.loads(line))


def write_scored(row: Any) -> str:
    """Writes one line of the output."""
    return json.dumps({name: getattr(row, name) for name in WRITTEN})


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="payments, JSON lines")
    parser.add_argument("--output", required=True, help="file to write, JSON lines too")
    parser.add_argument("--ensemble", default=str(ENSEMBLE), help="ensemble file (%(default)s)")
    parser.add_argument(
        "--database", default=DATABASE, help="URL of the accounts; a file is one beside the ensemble (%(default)s)"
    )  # fmt: skip
    flags, runner_flags = parser.parse_known_args(argv)
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        _ = (
            pipeline
            | "Read" >> beam.io.ReadFromText(flags.input)
            | "Payment" >> beam.Map(read_payment).with_output_types(Payment)
            | RunEnsemble(flags.ensemble, parameters={"database": flags.database})
            | "Line" >> beam.Map(write_scored)
            | "Write" >> beam.io.WriteToText(flags.output, num_shards=1, shard_name_template="")
        )


if __name__ == "__main__":
    main()
