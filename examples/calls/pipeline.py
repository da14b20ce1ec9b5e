"""Recommends what to do about recorded calls, by what was said and how: sound files in, JSON lines out.

    python examples/calls/pipeline.py --input build/examples/calls/rows.jsonl --output recommended.jsonl

A recording that cannot be heard is a line of ``recommended.jsonl.errors``. Flags that are not its own are the runner's,
such as ``--runner PrismRunner``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble

ENSEMBLE = Path(__file__).resolve().parent / "calls.yaml"


class Call(NamedTuple):
    """A call: its recording, and, to see how well all of this works, what was said and what should be done."""

    id: int
    audio: bytes
    said: str
    expected: str


def read_call(line: str) -> Call:
    """Reads one line of the input, and the file that it names."""
    call = json.loads(line)
    with FileSystems.open(call["recording"]) as recording:
        return Call(call["id"], recording.read(), call["said"], call["expected"])


def write_recommended(row: Any) -> str:
    """Writes one line of the output."""
    return json.dumps(row._asdict())


def write_failed(row: Any) -> str:
    """Writes one line of the errors."""
    return json.dumps({"id": row.element.id, "node": row.node, "code": row.code, "msg": row.msg})


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="JSON lines with id, recording, said, expected")
    parser.add_argument("--output", required=True, help="file to write, JSON lines too; errors are beside it")
    parser.add_argument("--ensemble", default=str(ENSEMBLE), help="ensemble file (%(default)s)")
    flags, runner_flags = parser.parse_known_args(argv)
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        calls = (
            pipeline
            | "Read" >> beam.io.ReadFromText(flags.input)
            | "Call" >> beam.Map(read_call).with_output_types(Call)
        )
        ensemble = RunEnsemble(flags.ensemble, pass_through=["id", "said", "expected"])
        recommended, failed = calls | ensemble.with_errors()
        _ = (
            recommended
            | "Line" >> beam.Map(write_recommended)
            | "Write" >> beam.io.WriteToText(flags.output, num_shards=1, shard_name_template="")
        )
        _ = (
            failed
            | "FailedLine" >> beam.Map(write_failed)
            | "WriteFailed"
            >> beam.io.WriteToText(f"{flags.output}.errors", num_shards=1, shard_name_template="")
        )


if __name__ == "__main__":
    main()
