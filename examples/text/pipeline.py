"""Adds to texts their category, mood, summary, French translation and keywords: JSON lines in and out.

    python examples/text/pipeline.py --input build/examples/text/rows.jsonl --output enriched.jsonl --off translation

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

ENSEMBLE = Path(__file__).resolve().parent / "text.yaml"
NODES = ("category", "sentiment", "summary", "translation", "keywords")


class Text(NamedTuple):
    """A row of the input."""

    id: int
    text: str


def read_text(line: str) -> Text:
    """Reads one line of the input."""
    return Text(**json.loads(line))


def write_enriched(row: Any) -> str:
    """Writes one line of the output: the text, and the columns of the nodes that are on."""
    return json.dumps(row._asdict(), ensure_ascii=False)


def switches(off: str) -> dict[str, str]:
    """Returns the ensemble's parameters: all nodes are on but those that are named."""
    return {**dict.fromkeys(NODES, "true"), **dict.fromkeys(filter(None, off.split(",")), "false")}


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="JSON lines with id, text")
    parser.add_argument("--output", required=True, help="file to write, JSON lines too")
    parser.add_argument("--ensemble", default=str(ENSEMBLE), help="ensemble file (%(default)s)")
    parser.add_argument("--off", default="", help=f"nodes to switch off, of {','.join(NODES)}")
    flags, runner_flags = parser.parse_known_args(argv)
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        _ = (
            pipeline
            | "Read" >> beam.io.ReadFromText(flags.input)
            | "Text" >> beam.Map(read_text).with_output_types(Text)
            | RunEnsemble(flags.ensemble, parameters=switches(flags.off))
            | "Line" >> beam.Map(write_enriched)
            | "Write" >> beam.io.WriteToText(flags.output, num_shards=1, shard_name_template="")
        )


if __name__ == "__main__":
    main()
