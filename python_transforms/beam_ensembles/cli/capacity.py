"""What ``plan --capacity`` takes and prints: rates, time, memory and cost of a number of workers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from beam_ensembles.cli.number_arguments import number, whole_number
from beam_ensembles.cli.output import counted, print_json
from beam_ensembles.errors import EnsembleError, ModelFormatError
from beam_ensembles.files.bounded_json import load_json
from beam_ensembles.messages.printable import printable

if TYPE_CHECKING:
    from beam_ensembles.metrics.capacity import Capacity

_MOST: Final = 10**15
_LARGEST_FILE: Final = 64 << 20
_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what belongs to ``--capacity``."""
    group = parser.add_argument_group("rates, time, memory and cost")
    group.add_argument(
        "--capacity",
        metavar="METRICS",
        help="predict from the metrics of a small run: the JSON of 'metrics --json' or of 'run --metrics --json'",
    )
    group.add_argument(
        "--workers",
        metavar="N",
        type=whole_number(1, _MOST),
        help="how many workers there will be, each like the one of that run (default: 1)",
    )
    group.add_argument(
        "--rows",
        metavar="N",
        type=whole_number(1, _MOST),
        help="how many rows they shall score, such as 1e9 (default: predict rates alone)",
    )
    group.add_argument(
        "--price", metavar="X", type=number(0, _MOST), help="what a worker costs an hour, in any currency"
    )
    group.add_argument(
        "--around-micros",
        metavar="US",
        type=number(0, _MOST),
        help="microseconds that a worker spends on a row around its nodes (default: 6; with Arrow batches about 1)",
    )


def surplus(args: argparse.Namespace) -> str:
    """Returns an argument that says nothing without ``--capacity``, or an empty text."""
    given = ("workers", "rows", "price", "around_micros")
    if args.capacity is not None:
        return ""
    return next((f"--{name.replace('_', '-')}" for name in given if getattr(args, name) is not None), "")


def show(args: argparse.Namespace, ensemble: str) -> None:
    """Prints what the workers can do.

    Args:
        args: The call's.
        ensemble: Name of the ensemble.

    Raises:
        EnsembleError: The file cannot be read, or has no metrics of this ensemble.
    """
    from beam_ensembles.metrics.capacity import AROUND_MICROS, capacity_of

    found = capacity_of(
        _read(args.capacity),
        ensemble,
        workers=args.workers or 1,
        rows=args.rows,
        price=args.price,
        around_micros=AROUND_MICROS if args.around_micros is None else args.around_micros,
    )
    if args.json:
        print_json(found.as_data())
    else:
        _print(found)


def _read(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            return load_json(file, most_bytes=_LARGEST_FILE)
    except OSError as error:
        raise EnsembleError(f"'{printable(path)}' cannot be read: {error.strerror}") from error
    except ModelFormatError as error:
        raise EnsembleError(f"'{printable(path)}' is not a JSON file of metrics: {error}") from error


def _print(found: Capacity) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    rows = counted(found.measured_rows)
    console.print(Text(f"ensemble '{found.ensemble}', from a run of {rows}", style="bold"))
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("node")
    for heading in ("µs per row", "share", "rows per batch", "load s", "model MiB"):
        table.add_column(heading, justify="right")
    for node in found.nodes:
        table.add_row(
            Text(printable(node.node)),
            *_time(node.seconds_per_row, found),
            f"{node.rows_per_batch:,.0f}",
            f"{node.load_seconds:.1f}",
            f"{node.model_bytes / (1 << 20):,.1f}",
        )
    table.add_row(Text("around the nodes", style="dim"), *_time(found.around_seconds, found), "", "", "")
    console.print(table)
    console.print()
    for label, text in _lines(found):
        console.print(Text.assemble((f"{label:10}", "dim"), text))


def _time(seconds: float, found: Capacity) -> tuple[str, str]:
    return f"{seconds * 1e6:,.2f}", f"{seconds / found.seconds_per_row:.0%}"


def _lines(found: Capacity) -> Iterator[tuple[str, str]]:
    workers = f"{found.workers:,} worker{'' if found.workers == 1 else 's'}"
    yield "rate", f"{found.rows_per_second:,.0f} rows/s with {workers}"
    yield (
        "memory",
        f"{found.model_bytes / (1 << 20):,.0f} MiB of models in each, beside Python and the libraries",
    )
    if found.seconds is not None and found.rows is not None:
        loading = f"{_duration(found.load_seconds)} of them for loading"
        yield "time", f"{_duration(found.seconds)} for {counted(found.rows)}, {loading}"
    if found.cost is not None:
        yield "cost", f"{found.cost:,.2f}, at {found.price:g} per worker and hour"


def _duration(seconds: float) -> str:
    """Returns seconds as a person says them: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``, ``3 d 4 h``."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    for unit, name, part, of_part in ((_DAY, "d", _HOUR, "h"), (_HOUR, "h", _MINUTE, "min")):
        if seconds >= unit:
            return f"{int(seconds // unit)} {name} {int(seconds % unit // part)} {of_part}"
    return f"{int(seconds // _MINUTE)} min {int(seconds % _MINUTE)} s"
