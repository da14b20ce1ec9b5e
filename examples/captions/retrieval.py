"""Finds, among the texts of each row, the three that fit its image best: JSON lines in and out.

    python examples/captions/retrieval.py --input build/examples/captions/retrieval.jsonl --output ranked.jsonl \
        --pictures $PWD/build/examples/captions

Rows whose image cannot be read go to a file beside the output, ``.errors``, with the reason. Flags that are not its own
are the runner's, such as ``--runner PrismRunner``.
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

HERE = Path(__file__).resolve().parent


class Choice(NamedTuple):
    """A row of the input: where an image is, texts to choose among, and the one that is right."""

    id: int
    url: str
    texts: Sequence[str]
    truth: str


def read_choice(line: str) -> Choice:
    """Reads one line of the input."""
    return Choice(**json.loads(line))


def write_ranking(row: Any) -> str:
    """Writes one line of the output."""
    fields = {"id": row.id, "url": row.url, "texts": list(row.texts), "truth": row.truth}
    return json.dumps({**fields, "top": [text._asdict() for text in row.top]})


def write_failed(row: Any) -> str:
    """Writes one line of the errors: which row it is, and what is wrong with it."""
    return json.dumps({"id": row.element.id, "url": row.element.url, "code": row.code, "msg": row.msg})


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="JSON lines with id, url, texts, truth")
    parser.add_argument("--output", required=True, help="file to write, JSON lines too")
    parser.add_argument(
        "--ensemble", default=str(HERE / "retrieval.yaml"), help="ensemble file (%(default)s)"
    )
    parser.add_argument("--pictures", default=str(HERE), help="what the URLs lie below (%(default)s)")
    flags, runner_flags = parser.parse_known_args(argv)
    ensemble = RunEnsemble(
        flags.ensemble,
        parameters={"pictures": flags.pictures},
        trust=[str(Path(flags.ensemble).parent), flags.pictures],
    )
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        scored, failed = (
            pipeline
            | "Read" >> beam.io.ReadFromText(flags.input)
            | "Choice" >> beam.Map(read_choice).with_output_types(Choice)
            | ensemble.with_errors()
        )
        _ = (
            scored
            | "Line" >> beam.Map(write_ranking)
            | "Write" >> beam.io.WriteToText(flags.output, num_shards=1, shard_name_template="")
        )
        _ = (
            failed
            | "ErrorLine" >> beam.Map(write_failed)
            | "WriteErrors"
            >> beam.io.WriteToText(f"{flags.output}.errors", num_shards=1, shard_name_template="")
        )


if __name__ == "__main__":
    main()
