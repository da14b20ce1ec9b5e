"""Answers a question about each image: JSON lines in and out.

    python examples/captions/questions.py --input build/examples/captions/questions.jsonl --output answered.jsonl \
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


class Question(NamedTuple):
    """A row of the input: where an image is, what is asked about it, and the right answer."""

    id: int
    url: str
    question: str
    truth: str


def read_question(line: str) -> Question:
    """Reads one line of the input."""
    return Question(**json.loads(line))


def write_answer(row: Any) -> str:
    """Writes one line of the output."""
    fields = {"id": row.id, "url": row.url, "question": row.question, "truth": row.truth}
    return json.dumps({**fields, "answer": row.answer})


def write_failed(row: Any) -> str:
    """Writes one line of the errors: which row it is, and what is wrong with it."""
    return json.dumps({"id": row.element.id, "url": row.element.url, "code": row.code, "msg": row.msg})


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="JSON lines with id, url, question, truth")
    parser.add_argument("--output", required=True, help="file to write, JSON lines too")
    parser.add_argument(
        "--ensemble", default=str(HERE / "questions.yaml"), help="ensemble file (%(default)s)"
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
            | "Question" >> beam.Map(read_question).with_output_types(Question)
            | ensemble.with_errors()
        )
        _ = (
            scored
            | "Line" >> beam.Map(write_answer)
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
