"""Multiplies numbers by five as they arrive, and prints by how much the model multiplies, every two seconds.

    python examples/times_five/stream.py --seconds 30

A number's event time is when it was due; the numbers are put into windows after the model, by that time. Workers look
every second for a newer model. Flags that are not its own are the runner's.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.periodicsequence import PeriodicImpulse
from apache_beam.transforms.window import FixedWindows

from beam_ensembles import RunEnsemble

ENSEMBLE = Path(__file__).resolve().parent / "times_five.yaml"
INTERVAL, WINDOW = 0.25, 2


class Number(NamedTuple):
    """A row of the stream."""

    x: np.float32


class Line(beam.DoFn):
    """Prints a line for each window: its number, how many numbers are in it, and what they were multiplied by."""

    def __init__(self, start: int) -> None:
        self._start = start

    def process(
        self, factors: tuple[str, Iterable[float]], window: Any = beam.DoFn.WindowParam
    ) -> Iterator[None]:
        """Takes the factors of all numbers of a window."""
        found = list(factors[1])
        id_ = (int(window.start) - self._start) // WINDOW
        line = {"id": id_, "numbers": len(found), "times": round(sum(found) / len(found), 4)}
        print(json.dumps(line), flush=True)
        yield from ()


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the pipeline."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=int, default=30, help="how long numbers arrive (%(default)s)")
    parser.add_argument("--ensemble", default=str(ENSEMBLE), help="ensemble file (%(default)s)")
    flags, runner_flags = parser.parse_known_args(argv)
    start = math.ceil(time.time() / WINDOW) * WINDOW
    with beam.Pipeline(options=PipelineOptions([*runner_flags, "--streaming"])) as pipeline:
        _ = (
            pipeline
            | "Clock" >> PeriodicImpulse(start, start + flags.seconds, INTERVAL)
            | "Number" >> beam.Map(lambda due: Number(np.float32(due - start + 1))).with_output_types(Number)
            | RunEnsemble(flags.ensemble, refresh_interval_secs=1)
            | "Window" >> beam.WindowInto(FixedWindows(WINDOW))
            | "Factor" >> beam.Map(lambda row: ("", float(row.y / row.x)))
            | "Gather" >> beam.GroupByKey()
            | "Line" >> beam.ParDo(Line(start))
        )


if __name__ == "__main__":
    main()
