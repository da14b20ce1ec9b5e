"""The results: tables on the terminal, JSON for programs, a page and a chart to commit."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from rich.console import Console
from rich.table import Table

from scripts.shell import output
from scripts.toolchains import go
from tests.benchmarks.sampling import Rate

_COLORS: Final = {
    "the models alone": "#8c8c8c",
    "ensemble": "#1f6f8b",
    "hand-wired": "#d98e32",
    "peers": "#8a5a9e",
}
_CALLERS: Final = {
    "bare loop": ("the models alone", "bare model loop"),
    "bare loop, large batches": (
        "the models alone",
        "bare model loop, batches as large as from Go and Java",
    ),
    "python": ("ensemble", "ensemble, Python"),
    "python arrow": ("ensemble", "ensemble, Python, Arrow batches"),
    "python-prism": ("ensemble", "ensemble, Python on Prism"),
    "go-prism": ("ensemble", "ensemble, Go on Prism"),
    "java-prism": ("ensemble", "ensemble, Java on Prism"),
    "python-flink": ("ensemble", "ensemble, Python on Flink"),
    "go-flink": ("ensemble", "ensemble, Go on Flink"),
    "java-flink": ("ensemble", "ensemble, Java on Flink"),
    "python hand-wired": ("hand-wired", "RunInference by hand, Python"),
    "go-prism hand-wired": ("hand-wired", "RunInference by hand, Go on Prism"),
    "go-flink hand-wired": ("hand-wired", "RunInference by hand, Go on Flink"),
    "spark": ("peers", "Spark predict_batch_udf"),
    "ray": ("peers", "Ray Data map_batches"),
}
"""The group of each caller, and its name in tables, in their order."""
_HEADINGS: Final = ("ensemble", "caller", "what", "measured", "against", "measured", "ratio", "target", "")
_PACKAGES: Final = ("apache-beam", "numpy", "scikit-learn", "xgboost-cpu", "onnxruntime")
_COLUMNS: Final = 2
"""Panels beside each other in the chart."""

Rates = Mapping[tuple[str, str], Rate]
"""Rates by ensemble and caller."""


@dataclasses.dataclass(frozen=True)
class Line:
    """Something measured, what it is compared with, and what is to be reached.

    Attributes:
        ensemble: Name of the ensemble.
        caller: Who scores: ``python``, ``go-prism``; ``service`` and ``worker`` for what those need themselves.
        what: The quantity.
        measured: What came out, in ``unit``: ``rows/s``, ``rows a batch``, ``calls``, ``s`` or ``bytes``.
        unit: The unit.
        against: What it is compared with, if anything.
        against_measured: What came out of that.
        at_least: The ratio to reach.
        at_most: The ratio not to exceed.
        more_at_most: How much more than that of ``against`` it may be, in ``unit``.
    """

    ensemble: str
    caller: str
    what: str
    measured: float
    unit: str
    against: str = ""
    against_measured: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    more_at_most: float | None = None

    @property
    def ratio(self) -> float | None:
        """The one divided by the other."""
        return self.measured / self.against_measured if self.against_measured else None

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached; None if there is none."""
        if self.more_at_most is not None:
            return self.measured - (self.against_measured or 0) <= self.more_at_most
        if self.ratio is None or self.at_least == self.at_most:
            return None
        return self.ratio <= self.at_most if self.at_most is not None else self.ratio >= (self.at_least or 0)

    def cells(self) -> list[str]:
        """Returns the texts of a row of the table."""
        target = f"at most {self.at_most}" if self.at_most is not None else ""
        if self.at_least is not None:
            target = f"at least {self.at_least}"
        elif self.more_at_most is not None:
            target = f"at most {_text(self.more_at_most, self.unit)} more"
        against = "" if self.against_measured is None else _text(self.against_measured, self.unit)
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        verdict = {None: "", True: "reached", False: "missed"}[self.reached]
        mine = _text(self.measured, self.unit)
        return [self.ensemble, self.caller, self.what, mine, self.against, against, ratio, target, verdict]


@dataclasses.dataclass
class Found:
    """The results so far: rates by ensemble and caller, and lines of all that was compared."""

    rates: dict[tuple[str, str], Rate] = dataclasses.field(default_factory=dict)
    lines: list[Line] = dataclasses.field(default_factory=list)

    def add(self, more: Found) -> None:
        """Adds what was found of another part."""
        self.rates |= more.rates
        self.lines += more.lines


def _text(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value / 1e6:,.0f} MB"
    if unit == "s":
        return f"{value:.2f} s" if value >= 1 else f"{value * 1_000:.1f} ms"
    return f"{value:,.0f} {unit}"


def _tables(found: Found) -> Iterator[tuple[str, Sequence[str], list[list[str]]]]:
    """Returns the title, the headings and the rows of each table."""
    if found.lines:
        yield "Medians, ratios in one run on one machine", _HEADINGS, [line.cells() for line in found.lines]
    if found.rates:
        starts = "Seconds that a run needs to start, not in the rates, and what part of a long run they are"
        names = list(dict.fromkeys(ensemble for ensemble, _ in found.rates))
        for title, cell in (("Rows a second", lambda rate: f"{rate.rows_per_second:,.0f}"), (starts, _start)):
            rows = [
                [
                    words,
                    *(
                        cell(found.rates[key]) if (key := (name, caller)) in found.rates else ""
                        for name in names
                    ),
                ]
                for caller, (_, words) in _CALLERS.items()
                if any((name, caller) in found.rates for name in names)
            ]
            yield title, ["", *names], rows


def _start(rate: Rate) -> str:
    once = f" (+ {rate.started:.1f} once)" if rate.started else ""
    return f"{rate.start_seconds:.1f}, {rate.start_seconds / rate.long_seconds:.0%}{once}"


def _is_numbers(column: Sequence[str]) -> bool:
    return all(not cell or cell[0].isdigit() or cell[0] == "-" for cell in column)


def show(found: Found, console: Console) -> None:
    """Prints the tables."""
    for title, headings, rows in _tables(found):
        table = Table(title=title)
        for heading, column in zip(headings, zip(*rows, strict=True), strict=True):
            table.add_column(heading, justify="right" if _is_numbers(column) else "left")
        for row in rows:
            table.add_row(*row, style="red" if row[-1] == "missed" else None)
        console.print(table)


def write_json(found: Found, path: Path, **about: Any) -> None:
    """Writes what was found, and what is known about the run."""
    rates = [
        {"ensemble": ensemble, "caller": caller, **dataclasses.asdict(rate)}
        for (ensemble, caller), rate in found.rates.items()
    ]
    lines = [
        {**dataclasses.asdict(line), "ratio": line.ratio, "reached": line.reached} for line in found.lines
    ]
    path.write_text(json.dumps({**about, "rates": rates, "lines": lines}, indent=1) + "\n", encoding="utf-8")


def write_page(found: Found, machine: Mapping[str, str], notes: str, path: Path) -> None:
    """Writes the page: the machine, the chart, the tables, and how it was measured."""
    parts = ["# Results\n\nMade by `make bench`. Do not edit.\n"]
    parts.append("".join(f"- {name}: {text}\n" for name, text in machine.items()))
    for number, (title, headings, rows) in enumerate(_tables(found)):
        ruler = ["---:" if number and at else "---" for at in range(len(headings))]
        lines = "".join(f"| {' | '.join(row)} |\n" for row in (headings, ruler, *rows))
        parts.append(f"## {title}\n\n{lines}")
        parts += [] if number else ["![Rows a second](results.svg)\n"]
    path.write_text("\n".join([*parts, notes]), encoding="utf-8")


def draw(rates: Rates, path: Path) -> None:
    """Draws a panel per ensemble, a bar per caller, into an SVG file: the same rates make the same file."""
    names = list(dict.fromkeys(ensemble for ensemble, _ in rates))
    shown = {name: [caller for caller in _CALLERS if (name, caller) in rates] for name in names}
    across, down = min(len(names), _COLUMNS), -(-len(names) // _COLUMNS)
    height = max(map(len, shown.values())) * 0.27 + 0.8
    figure = Figure((6.2 * across, down * height + 0.5), layout="constrained")
    panels = list(figure.subplots(down, across, squeeze=False).flat)
    for panel, name in zip(panels, names, strict=False):
        _draw_panel(panel, name, {caller: rates[name, caller].rows_per_second for caller in shown[name]})
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    groups = {_CALLERS[caller][0] for callers in shown.values() for caller in callers}
    legend = [Patch(color=color, label=group) for group, color in _COLORS.items() if group in groups]
    figure.legend(handles=legend, loc="outside upper center", ncols=len(legend), frameon=False, fontsize=9)
    own = {"svg.fonttype": "none", "svg.hashsalt": "beam-ensembles", "font.family": "sans-serif"}
    with mpl.rc_context(own):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _draw_panel(panel: Any, name: str, values: Mapping[str, float]) -> None:
    colors = [_COLORS[_CALLERS[caller][0]] for caller in values]
    bars = panel.barh([_CALLERS[caller][1] for caller in values], values.values(), color=colors, height=0.72)
    panel.bar_label(bars, [f"{value:,.0f}" for value in values.values()], padding=3, fontsize=8)
    panel.set_title(f"{name}: rows a second", loc="left", fontsize=11)
    panel.set_xlim(0, max(values.values()) * 1.18)
    panel.invert_yaxis()
    panel.xaxis.set_visible(False)
    panel.tick_params(axis="y", length=0, labelsize=8)
    panel.spines[["top", "right", "bottom"]].set_visible(False)


def machine() -> dict[str, str]:
    """Describes this machine and the versions, in words that name no host and no path."""
    information = Path("/proc/cpuinfo")
    text = information.read_text(encoding="utf-8") if information.exists() else ""
    processor = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    versions = [f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES]
    compiler = go.find()
    return {
        "Processor": f"{processor[1] if processor else platform.machine()}, {len(os.sched_getaffinity(0))} cores",
        "Memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "System": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Packages": ", ".join(versions),
        "torch": "installed" if importlib.util.find_spec("torch") else "not installed",
        "Go": ".".join(map(str, compiler.version)) if compiler else "none",
        "Commit": output(["git", "rev-parse", "--short", "HEAD"]) or "unknown",
    }
