"""``python -m tests.benchmarks [--quick] [--only light,text] [--ways python,spark] [--turns 3]``: how fast it all is.

Compares them with the same work without this project and with other engines. Prints tables, and writes them to
``build/bench.json`` with a chart beside it. A whole run, and a part of one with ``--record``, also adds what it found
to ``tests/benchmarks/results.json``, in the place of what earlier runs found, and makes ``RESULTS.md`` and
``results.svg`` of all. One that is interrupted (Ctrl-C, SIGTERM) does so with the parts that were done. Ends with 0
whether or not the targets are reached: this is a measurement, not a test.
"""

from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from scripts.layout import BUILD, relative
from scripts.processes import end_with_cleanup_on_sigterm
from scripts.temporary import own_temporary_folder
from tests.benchmarks import chart, machine, records, report
from tests.benchmarks.measuring import PARTS, QUICK, WHOLE, Found, measure
from tests.benchmarks.providers import PROVIDERS

JSON: Final = BUILD / "bench.json"
SVG: Final = BUILD / "bench.svg"
WIDTH: Final = 160
"""Characters that the table needs; a log has no width of its own."""
HERE: Final = Path(__file__).resolve().parent


def _some_of(all_: Sequence[str]) -> Callable[[str], list[str]]:
    """Gives what reads names with commas between them."""

    def read(text: str) -> list[str]:
        names = text.split(",")
        unknown = [name for name in names if name not in all_]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}; there are {', '.join(all_)}")
        return names

    return read


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and short runs, only to see that all works")
    for flag, names, what in (
        ("--only", PARTS, "what is measured"),
        ("--ways", tuple(PROVIDERS), "who scores the ensembles' rows"),
    ):
        parser.add_argument(
            flag, type=_some_of(names), default=list(names), help=f"{what}: some of {', '.join(names)}"
        )
    parser.add_argument(
        "--turns",
        type=int,
        help=f"how often each caller is measured; without it {WHOLE.callers_rounds} times",
    )
    parser.add_argument("--record", action="store_true", help="add a part to RESULTS.md, too")
    return parser.parse_args()


def _is_whole(options: argparse.Namespace, parts: Sequence[str]) -> bool:
    """Whether a run that measured some parts is what ``make bench`` does."""
    all_of_it = set(parts) == set(PARTS) and set(options.ways) == set(PROVIDERS)
    return all_of_it and not options.quick and options.turns is None


def _command(options: argparse.Namespace, parts: Sequence[str]) -> str:
    """Gives the command that measures some parts again, and records them."""
    if _is_whole(options, parts):
        return "make bench"
    flags = ["--record", *["--quick"] * options.quick]
    if options.turns is not None:
        flags += ["--turns", str(options.turns)]
    flags += ["--only", ",".join(parts)]
    if set(options.ways) != set(PROVIDERS):
        flags += ["--ways", ",".join(options.ways)]
    return " ".join(["python -m tests.benchmarks", *flags])


def _record(latest: records.Record) -> list[Path]:
    """Adds a run to those that were recorded, and makes the page and the chart of them all."""
    runs, page, picture = (HERE / name for name in ("results.json", "RESULTS.md", "results.svg"))
    recorded = records.with_latest(records.read(runs), latest)
    records.write(recorded, runs)
    if rates := records.in_one_picture(recorded):
        chart.draw(rates, picture)
    report.write_page(recorded, (HERE / "METHOD.md").read_text(encoding="utf-8"), page)
    return [runs, page, picture]


def main() -> int:
    """Measures; gives the exit code."""
    options = _options()
    end_with_cleanup_on_sigterm()
    effort = QUICK if options.quick else WHOLE
    if options.turns is not None:
        effort = dataclasses.replace(effort, callers_rounds=options.turns)
    console, start = Console(), time.monotonic()
    console.width = max(console.width, WIDTH)
    found, done, code = Found(), list[str](), 0
    try:
        with own_temporary_folder():
            for part, more in measure(options.only, options.ways, effort, console):
                found.add(more)
                done.append(part)
                report.write_json(found, JSON)  # what is measured is kept, whatever comes after it
    except (KeyboardInterrupt, SystemExit) as ended:
        code = 128 + (signal.SIGINT if isinstance(ended, KeyboardInterrupt) else signal.SIGTERM)
        left = [part for part in options.only if part not in done]
        console.print(f"Interrupted; not measured: {', '.join(left)}")
    if not done:
        return code
    report.show(found, console)
    written = [JSON]
    if options.record or _is_whole(options, options.only):
        written += _record(records.Record(_command(options, done), machine.description(), found))
    elif found.rates:
        written.append(SVG)
        chart.draw(found.rates, SVG)
    console.print(f"{', '.join(map(relative, written))}; {time.monotonic() - start:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
