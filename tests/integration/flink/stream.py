"""A stream of numbers through ensembles whose models change meanwhile, until it is ended.

    python tests/integration/flink/stream.py --ensemble times.yaml FILE --ensemble gated.yaml FILE --streaming

Every row that comes out of one is a line of its file: the number, and what each of the two models multiplied it by.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.periodicsequence import PeriodicImpulse
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.transforms import RunEnsemble

SECONDS, PAUSE, INTERVAL = 600, 0.1, 0.5
Rows = RowTypeConstraint.from_fields([("x", float)])


class Note(beam.DoFn):
    """Appends what became of a row to a file."""

    def __init__(self, path: str) -> None:
        self._path = path

    def process(self, row: beam.Row) -> None:
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(f"{row.x} {round(row.one / row.x)} {round(row.two / row.x)}\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ensemble", nargs=2, action="append", required=True)
    flags, runner_flags = parser.parse_known_args(argv)
    start = time.time()
    with beam.Pipeline(options=PipelineOptions(runner_flags)) as pipeline:
        ticks = pipeline | PeriodicImpulse(start, start + SECONDS, PAUSE)
        numbers = ticks | beam.Map(lambda at: round((at - start) / PAUSE) + 1.0)
        rows = numbers | "Rows" >> beam.Map(lambda x: beam.Row(x=x)).with_output_types(Rows)
        for number, (ensemble, notes) in enumerate(flags.ensemble):
            scored = rows | f"Score {number}" >> RunEnsemble(ensemble, refresh_interval_secs=INTERVAL)
            scored | f"Note {number}" >> beam.ParDo(Note(notes))


if __name__ == "__main__":
    main()
