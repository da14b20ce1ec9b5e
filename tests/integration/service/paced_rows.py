"""A pipeline slow enough that something can be killed in its middle.

    python tests/integration/service/paced_rows.py FOLDER ROWS RUNNER_FLAGS...

FOLDER has the ensemble ``e.yaml``. A worker notes there, in ``seen-PROCESS``, that it has begun, and what becomes of
each row in ``out-PROCESS``. Prints DONE when the runner says that all went well.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.typehints.row_type import RowTypeConstraint

from beam_ensembles.transforms import RunEnsemble

ROW = RowTypeConstraint.from_fields([("x", float)])


class Pace(beam.DoFn):
    """Pass on rows slowly."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def process(self, number: int) -> Iterator[beam.Row]:
        if number % 100 == 0:
            (self._folder / f"seen-{os.getpid()}").touch()
            time.sleep(0.1)
        yield beam.Row(x=float(number))


class Note(beam.DoFn):
    """Appends a line of each row to a file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def process(self, line: str) -> None:
        with open(self._folder / f"out-{os.getpid()}", "a", encoding="ascii") as file:
            file.write(f"{line}\n")


def main() -> None:
    """Runs the pipeline."""
    folder, rows, flags = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    with beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
        paced = (
            pipeline
            | beam.Create(range(rows))
            | beam.Reshuffle()
            | beam.ParDo(Pace(folder)).with_output_types(ROW)
        )
        scored, errors = paced | RunEnsemble(folder / "e.yaml").with_errors()
        lines = (
            scored | "Scored" >> beam.Map(lambda row: f"{row.x} scored {row.y}"),
            errors | "Error" >> beam.Map(lambda row: f"{row.element.x} error {row.code}"),
        )
        _ = lines | beam.Flatten() | beam.ParDo(Note(folder))
    print("DONE")


if __name__ == "__main__":
    main()
