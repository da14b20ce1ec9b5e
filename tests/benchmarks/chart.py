"""The rates as a picture: a panel an ensemble, a bar a caller."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tests.benchmarks.peers_table import WORDS, Rates, callers, ensembles, group_of

COLORS: Final = {
    "the models alone": "#8c8c8c",
    "ensemble": "#1f6f8b",
    "hand-wired": "#d98e32",
    "peers": "#8a5a9e",
}
_COLUMNS: Final = 2
_WIDTH: Final = 6.2
_BAR: Final = 0.27
"""Inches of a bar."""


def draw(rates: Rates, path: Path) -> None:
    """Draws the rates into an SVG file: texts stay texts, and the same rates give the same file."""
    names = ensembles(rates)
    bars = max(len(_measured(rates, name)) for name in names)
    lines = -(-len(names) // _COLUMNS)
    figure = Figure(
        (_WIDTH * min(len(names), _COLUMNS), lines * (bars * _BAR + 0.8) + 0.5), layout="constrained"
    )
    panels = figure.subplots(lines, min(len(names), _COLUMNS), squeeze=False).flat
    for panel, name in zip(panels, names, strict=False):
        _draw_panel(panel, rates, name)
    for panel in list(panels)[len(names) :]:
        panel.set_axis_off()
    groups = {group_of(caller) for caller in callers(rates)}
    legend = [Patch(color=color, label=group) for group, color in COLORS.items() if group in groups]
    figure.legend(handles=legend, loc="outside upper center", ncols=len(legend), frameon=False, fontsize=9)
    with mpl.rc_context(
        {"svg.fonttype": "none", "svg.hashsalt": "beam-ensembles", "font.family": "sans-serif"}
    ):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})


def _measured(rates: Rates, ensemble: str) -> list[str]:
    return [caller for caller in callers(rates) if (ensemble, caller) in rates]


def _draw_panel(panel: Any, rates: Rates, ensemble: str) -> None:
    shown = _measured(rates, ensemble)
    values = [rates[ensemble, caller].rows_per_second for caller in shown]
    colors = [COLORS[group_of(caller)] for caller in shown]
    bars = panel.barh([WORDS[caller] for caller in shown], values, color=colors, height=0.72)
    panel.bar_label(bars, [f"{value:,.0f}" for value in values], padding=3, fontsize=8)
    panel.set_title(f"{ensemble}: rows a second", loc="left", fontsize=11)
    panel.set_xlim(0, max(values) * 1.18)
    panel.invert_yaxis()
    panel.xaxis.set_visible(False)
    panel.tick_params(axis="y", length=0, labelsize=8)
    panel.spines[["top", "right", "bottom"]].set_visible(False)
