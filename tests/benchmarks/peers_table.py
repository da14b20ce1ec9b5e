"""Everybody's rows a second, an ensemble a column; what each start costs; and what was to be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table

from tests.benchmarks.comparisons import Comparison
from tests.benchmarks.sampling import Rate

Rates = Mapping[tuple[str, str], Rate]
"""Rates by the names of the ensemble and of the caller."""
Marks = Mapping[tuple[str, str], str]
"""What stands behind a rate, by the same names."""

LOOP: Final = "bare loop"
LARGE_LOOP: Final = "bare loop, large batches"
TARGETS: Final[Sequence[tuple[str, str, str, float]]] = (
    ("light", "go-prism", LARGE_LOOP, 0.6),
    ("light", "go-prism", "go-prism hand-wired", 30.0),
    ("light", "go-prism", "spark", 1.3),
    ("light", "java-prism", LARGE_LOOP, 0.5),
    ("light", "java-prism", "spark", 1.0),
    ("light", "python", LOOP, 0.35),
    ("light", "python", "python hand-wired", 8.0),
    ("light", "python arrow", LARGE_LOOP, 0.6),
    ("light", "go-flink", "go-flink hand-wired", 5.0),
    ("digits", "python", LOOP, 0.6),
    ("digits", "python", "python hand-wired", 8.0),
    ("digits", "go-prism", LARGE_LOOP, 0.6),
    ("digits", "go-prism", "go-prism hand-wired", 8.0),
    ("digits", "java-prism", LARGE_LOOP, 0.6),
    *(
        (ensemble, caller, LOOP, 0.9)
        for ensemble in ("text", "image")
        for caller in ("python", "go-prism", "java-prism")
    ),
)
"""Ensemble, caller, what it is compared with, and at least how many times as many rows a second it must score."""

_GROUPS: Final = {
    "the models alone": (LOOP, LARGE_LOOP),
    "ensemble": (
        "python", "python arrow", "python-prism", "go-prism", "java-prism", "python-flink", "go-flink", "java-flink",
    ),
    "hand-wired": ("python hand-wired", "go-prism hand-wired", "go-flink hand-wired"),
    "peers": ("spark", "ray"),
}  # fmt: skip
WORDS: Final = {
    LOOP: "bare model loop",
    LARGE_LOOP: "bare model loop, batches as large as from Go and Java",
    "python": "ensemble, Python",
    "python arrow": "ensemble, Python, Arrow batches",
    "python-prism": "ensemble, Python on Prism",
    "go-prism": "ensemble, Go on Prism",
    "java-prism": "ensemble, Java on Prism",
    "python-flink": "ensemble, Python on Flink",
    "go-flink": "ensemble, Go on Flink",
    "java-flink": "ensemble, Java on Flink",
    "python hand-wired": "RunInference by hand, Python",
    "go-prism hand-wired": "RunInference by hand, Go on Prism",
    "go-flink hand-wired": "RunInference by hand, Go on Flink",
    "spark": "Spark predict_batch_udf",
    "ray": "Ray Data map_batches",
}
"""What each caller is called where people read it."""


def group_of(caller: str) -> str:
    """Gives the group of a caller."""
    return next(group for group, callers in _GROUPS.items() if caller in callers)


def callers(rates: Rates) -> list[str]:
    """Gives who was measured, in the order of the table."""
    measured = {caller for _, caller in rates}
    return [caller for group in _GROUPS.values() for caller in group if caller in measured]


def ensembles(rates: Rates) -> list[str]:
    """Gives what was scored, in the order in which it was."""
    return list(dict.fromkeys(ensemble for ensemble, _ in rates))


def of_rates(rates: Rates) -> Iterator[Comparison]:
    """Compares those who were measured with what they must reach."""
    for ensemble, caller, against, target in TARGETS:
        if (ensemble, caller) in rates and (ensemble, against) in rates:
            ours, theirs = (rates[ensemble, one].rows_per_second for one in (caller, against))
            yield Comparison.of_rates(ensemble, caller, "ensemble", ours, against, theirs, target)


def show(rates: Rates, console: Console) -> None:
    """Prints both tables."""
    for title, cell in _TABLES.items():
        table = Table(title=title)
        for number, heading in enumerate(_headings(rates)):
            table.add_column(heading, justify="right" if number else "left")
        for texts in _lines(rates, cell, {}):
            table.add_row(*texts)
        console.print(table)


def page(rates: Rates, marks: Marks) -> str:
    """Gives both tables as a part of a page in Markdown."""
    lines: list[str] = []
    for title, cell in _TABLES.items():
        headings = _headings(rates)
        rows = [headings, ["---", *["---:"] * (len(headings) - 1)], *_lines(rates, cell, marks)]
        lines += [f"## {title}", "", *(f"| {' | '.join(texts)} |" for texts in rows), ""]
    return "\n".join([*lines, ""])


def _headings(rates: Rates) -> list[str]:
    return ["", *ensembles(rates)]


def _lines(rates: Rates, cell: Callable[[Rate], str], marks: Marks) -> Iterator[list[str]]:
    for caller in callers(rates):
        keys = [(ensemble, caller) for ensemble in ensembles(rates)]
        yield [
            WORDS[caller],
            *(cell(rates[key]) + marks.get(key, "") if key in rates else "" for key in keys),
        ]


def _start(rate: Rate) -> str:
    part = rate.start_seconds / rate.long_seconds
    once = f" (+ {rate.started:.1f} once)" if rate.started else ""
    return f"{rate.start_seconds:.1f}, {part:.0%}{once}"


_TABLES: Final[Mapping[str, Callable[[Rate], str]]] = {
    "Rows a second": lambda rate: f"{rate.rows_per_second:,.0f}",
    "Seconds that a run needs to start, not in the rates, and what part of a long run they are": _start,
}
