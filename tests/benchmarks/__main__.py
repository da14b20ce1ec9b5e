"""``python -m tests.benchmarks [--quick] [--only light,text] [--ways python,spark] [--turns 3]``: how fast it all is.

Compares ensembles with the same work without this project and with other engines. Prints tables, and writes what it
found to ``build/bench.json``, with a chart beside it. A whole run, as of ``make bench``, also writes ``RESULTS.md``,
with its chart and its figures (``results.json``): they are committed with a release. A run that is interrupted (Ctrl-C,
SIGTERM) shows the parts that are done. The exit code is 0 whether or not targets are reached: this is not a test.
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
from scripts.program import end_with_cleanup_on_sigterm, own_temporary_folder
from tests.benchmarks import report
from tests.benchmarks.measuring import PARTS, QUICK, WHOLE, measure
from tests.benchmarks.ways import PROVIDERS

HERE: Final = Path(__file__).resolve().parent
WIDTH: Final = 160
"""Characters that the table needs; a log has no width of its own."""


def _some_of(all_: Sequence[str]) -> Callable[[str], list[str]]:
    """Returns what reads names with commas between them."""

    def read(text: str) -> list[str]:
        names = text.split(",")
        unknown = [name for name in names if name not in all_]
        if unknown:
            raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}; there are {', '.join(all_)}")
        return names

    return read


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="make few and short runs, only to see that all works"
    )
    for flag, names, what in (
        ("--only", list(PARTS), "measure only some of"),
        ("--ways", list(PROVIDERS), "score the ensembles' rows only with some of"),
    ):
        parser.add_argument(flag, type=_some_of(names), default=names, help=f"{what} {', '.join(names)}")
    turns = f"measure each caller so often (default: {WHOLE.callers_rounds})"
    parser.add_argument("--turns", type=int, help=turns)
    return parser.parse_args()


def main() -> int:
    """Measures; returns the exit code."""
    options = _options()
    end_with_cleanup_on_sigterm()
    effort = QUICK if options.quick else WHOLE
    if options.turns is not None:
        effort = dataclasses.replace(effort, callers_rounds=options.turns)
    console, start = Console(), time.monotonic()
    console.width = max(console.width, WIDTH)
    found, left, code = report.Found(), list(options.only), 0
    try:
        with own_temporary_folder():
            for part, more in measure(options.only, options.ways, effort, console):
                found.add(more)
                left.remove(part)
                report.write_json(
                    found, BUILD / "bench.json"
                )  # what is measured is kept, whatever comes after it
    except (KeyboardInterrupt, SystemExit) as ended:
        code = 128 + (signal.SIGINT if isinstance(ended, KeyboardInterrupt) else signal.SIGTERM)
        console.print(f"Interrupted; not measured: {', '.join(left)}")
    if len(left) == len(options.only):
        return code
    report.show(found, console)
    written = [BUILD / "bench.json"]
    whole = set(options.only) == set(PARTS) and set(options.ways) == set(PROVIDERS)
    if whole and not left and effort == WHOLE:
        machine, notes = report.machine(), (HERE / "METHOD.md").read_text(encoding="utf-8")
        written += [HERE / name for name in ("results.json", "RESULTS.md", "results.svg")]
        report.write_json(found, written[1], machine=machine)
        report.write_page(found, machine, notes, written[2])
    elif found.rates:
        written.append(BUILD / "bench.svg")
    if found.rates:
        report.draw(found.rates, written[-1])
    console.print(f"{', '.join(map(relative, written))}; {time.monotonic() - start:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
