"""Finds things in pictures: the files of a pattern in, JSON lines, Parquet and, with a flag, a BigQuery table out.

    python examples/detection/pipeline.py --input 'build/examples/detection/images/*' --output found.jsonl

Flags that are not its own are the runner's, such as ``--runner PrismRunner``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
from apache_beam.io import fileio
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions

from beam_ensembles import RunEnsemble

ENSEMBLE = Path(__file__).resolve().parent / "detection.yaml"
THING = pa.struct([("label", pa.string()), ("box", pa.list_(pa.float32())), ("score", pa.float32())])
PARQUET = pa.schema([("file", pa.string()), ("found", pa.list_(THING))])
BIGQUERY = {
    "fields": [
        {"name": "file", "type": "STRING", "mode": "REQUIRED"},
        {
            "name": "found",
            "type": "RECORD",
            "mode": "REPEATED",
            "fields": [
                {"name": "label", "type": "STRING", "mode": "REQUIRED"},
                {"name": "box", "type": "FLOAT", "mode": "REPEATED"},
                {"name": "score", "type": "FLOAT", "mode": "REQUIRED"},
            ],
        },
    ]
}


class Picture(NamedTuple):
    """A row of the input: a file's name, by which its answer is known again, and what is in it."""

    file: str
    data: bytes


def read_picture(file: fileio.ReadableFile) -> Picture:
    """Reads one of the files."""
    return Picture(FileSystems.split(file.metadata.path)[1], file.read())


def as_dict(row: Any) -> dict[str, Any]:
    """Returns a scored row as JSON, Parquet and BigQuery take it."""
    found = [
        {"label": thing.label, "box": list(map(float, thing.box)), "score": float(thing.score)}
        for thing in row.found
    ]
    return {"file": row.file, "found": found}


def write_failure(failure: Any) -> str:
    """Writes one line of the errors: which file it is, and what is wrong with it."""
    return json.dumps({"file": failure.element.file, "code": failure.code, "msg": failure.msg})


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="pattern of the picture files")
    parser.add_argument(
        "--output", required=True, help="file to write, JSON lines; FILE.parquet and FILE.errors beside it"
    )
    parser.add_argument("--bigquery", help="table to write too, PROJECT:DATASET.TABLE")
    parser.add_argument("--ensemble", default=str(ENSEMBLE), help="ensemble file (%(default)s)")
    flags, runner_flags = parser.parse_known_args(argv)
    one_file: dict[str, Any] = {"num_shards": 1, "shard_name_template": ""}
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        scored, failed = (
            pipeline
            | fileio.MatchFiles(flags.input)
            | fileio.ReadMatches()
            | "Read" >> beam.Map(read_picture).with_output_types(Picture)
            | RunEnsemble(flags.ensemble, pass_through=["file"]).with_errors()
        )
        found = scored | "Found" >> beam.Map(as_dict)
        _ = found | "Line" >> beam.Map(json.dumps) | "Write" >> beam.io.WriteToText(flags.output, **one_file)
        _ = found | beam.io.WriteToParquet(f"{flags.output}.parquet", PARQUET, **one_file)
        _ = (
            failed
            | "Failure" >> beam.Map(write_failure)
            | "WriteFailures" >> beam.io.WriteToText(f"{flags.output}.errors", **one_file)
        )
        if flags.bigquery:
            _ = found | beam.io.WriteToBigQuery(flags.bigquery, schema=BIGQUERY)


if __name__ == "__main__":
    main()
