"""Finds things in pictures that have keys: pairs of a file's name and a row go in, and come out as such pairs.

    python examples/detection/keyed.py --input 'build/examples/detection/images/*' --output labels.jsonl

Whoever joins or groups by keys next starts so. Flags that are not its own are the runner's.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.io import fileio
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble

ENSEMBLE = Path(__file__).resolve().parent / "detection.yaml"


class Picture(NamedTuple):
    """The row of a pair: a picture file, as it was read."""

    data: bytes


def read_picture(file: fileio.ReadableFile) -> tuple[str, Picture]:
    """Reads one of the files; its name is the key."""
    return FileSystems.split(file.metadata.path)[1], Picture(file.read())


def write_labels(pair: tuple[str, Any]) -> str:
    """Writes one line of the output: what is in a file."""
    file, row = pair
    return json.dumps({"file": file, "labels": [thing.label for thing in row.found]})


def write_failure(pair: tuple[str, Any]) -> str:
    """Writes one line of the errors: which file it is, and what is wrong with it."""
    file, failure = pair
    return json.dumps({"file": file, "code": failure.code, "msg": failure.msg})


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="pattern of the picture files")
    parser.add_argument("--output", required=True, help="file to write, JSON lines; FILE.errors beside it")
    parser.add_argument("--ensemble", default=str(ENSEMBLE), help="ensemble file (%(default)s)")
    flags, runner_flags = parser.parse_known_args(argv)
    one_file: dict[str, Any] = {"num_shards": 1, "shard_name_template": ""}
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        scored, failed = (
            pipeline
            | fileio.MatchFiles(flags.input)
            | fileio.ReadMatches()
            | "Read" >> beam.Map(read_picture).with_output_types(tuple[str, Picture])
            | RunEnsemble(flags.ensemble, pass_through=[]).with_errors()
        )
        _ = (
            scored
            | "Labels" >> beam.Map(write_labels)
            | "Write" >> beam.io.WriteToText(flags.output, **one_file)
        )
        _ = (
            failed
            | "Failure" >> beam.Map(write_failure)
            | "WriteFailures" >> beam.io.WriteToText(f"{flags.output}.errors", **one_file)
        )


if __name__ == "__main__":
    main()
