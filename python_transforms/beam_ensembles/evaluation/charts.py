"""Diagrams of an evaluation as SVG elements for a page, which has the colours (``report``)."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Final

_SIDE: Final = 260
_LEFT, _BELOW, _ABOVE, _RIGHT = 44, 40, 10, 14
_MOST_LINES: Final = 6
_WIDE, _TALL, _COST_LEFT, _COST_RIGHT = 276, 220, 64, 16
"""The sides of the diagram of costs, which a narrow screen shows in full size."""
_LETTER, _LINE = 6.6, 13

Line = tuple[str, Sequence[tuple[float, float]]]
"""A name, and points between 0 and 1."""


def unit_chart(title: str, across: str, up: str, lines: Sequence[Line], *, diagonal: bool) -> str:
    """Returns a chart of lines in the unit square.

    Args:
        title: What it shows, for people who do not see it.
        across: The name of the horizontal axis.
        up: The name of the vertical axis.
        lines: The lines, the first of them thick.
        diagonal: Whether the diagonal is drawn.
    """
    parts = [_axes(across, up)]
    if diagonal:
        parts.append(f'<path class="diagonal" d="M{_x(0)} {_y(0)} L{_x(1)} {_y(1)}"/>')
    for at, (name, points) in enumerate(lines[:_MOST_LINES]):
        path = " L".join(f"{_x(across_)} {_y(up_)}" for across_, up_ in points)
        parts.append(f'<path class="line l{at}" d="M{path}"><title>{html.escape(name)}</title></path>')
        if len(points) <= 12:
            parts += [f'<circle class="dot l{at}" cx="{_x(a)}" cy="{_y(u)}" r="3"/>' for a, u in points]
    return _figure(title, _SIDE + _LEFT + _RIGHT, _SIDE + _ABOVE + _BELOW, parts, _legend(lines))


def _x(value: float) -> str:
    return f"{_LEFT + value * _SIDE:.1f}"


def _y(value: float) -> str:
    return f"{_ABOVE + (1 - value) * _SIDE:.1f}"


def _axes(across: str, up: str) -> str:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<path class="grid" d="M{_x(tick)} {_y(0)} V{_y(1)} M{_x(0)} {_y(tick)} H{_x(1)}"/>')
        parts.append(f'<text x="{_x(tick)}" y="{_ABOVE + _SIDE + 16}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{_LEFT - 6}" y="{float(_y(tick)) + 4:.1f}" text-anchor="end">{tick:g}</text>')
    middle = _ABOVE + _SIDE / 2
    parts.append(
        f'<text x="{_x(0.5)}" y="{_ABOVE + _SIDE + 34}" text-anchor="middle">{html.escape(across)}</text>'
    )
    turn = f'transform="rotate(-90 11 {middle})"'
    parts.append(f'<text x="11" y="{middle}" text-anchor="middle" {turn}>{html.escape(up)}</text>')
    return "".join(parts)


def _legend(lines: Sequence[Line]) -> str:
    shown = "".join(
        f'<li><span class="key k{at}"></span>{html.escape(name)}</li>'
        for at, (name, _) in enumerate(lines[:_MOST_LINES])
    )
    more = len(lines) - _MOST_LINES
    return f'<ul class="legend">{shown}{f"<li>and {more} more</li>" if more > 0 else ""}</ul>'


def _figure(title: str, wide: float, high: float, parts: Sequence[str], below: str = "") -> str:
    name = html.escape(title)
    drawn = (
        f'<svg class="chart" viewBox="0 0 {wide:.0f} {high:.0f}" width="{wide:.0f}" height="{high:.0f}" role="img" '
        f'aria-label="{name}">{"".join(parts)}</svg>'
    )
    return f"<figure><figcaption>{name}</figcaption>{drawn}{below}</figure>"


def cost_chart(title: str, up: str, points: Sequence[tuple[str, float, float]]) -> str:
    """Returns a chart of cost against quality.

    Args:
        title: What it shows.
        up: The name of the quality.
        points: The name, the milliseconds per row and the quality of each subject; the first one is the ensemble.
    """
    most, low, high = _bounds(points)
    parts = [f'<path class="grid" d="M{_COST_LEFT} {_ABOVE} V{_ABOVE + _TALL} H{_COST_LEFT + _WIDE}"/>']
    for cost in _ticks(0.0, most):
        x = _COST_LEFT + cost / most * _WIDE
        parts.append(f'<path class="grid" d="M{x:.1f} {_ABOVE} V{_ABOVE + _TALL}"/>')
        parts.append(f'<text x="{x:.1f}" y="{_ABOVE + _TALL + 16}" text-anchor="middle">{cost:g}</text>')
    for quality in _ticks(low, high):
        y = _ABOVE + (1 - (quality - low) / (high - low)) * _TALL
        parts.append(f'<path class="grid" d="M{_COST_LEFT} {y:.1f} H{_COST_LEFT + _WIDE}"/>')
        parts.append(f'<text x="{_COST_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{quality:g}</text>')
    across = f'x="{_COST_LEFT + _WIDE / 2}" y="{_ABOVE + _TALL + 34}" text-anchor="middle"'
    parts.append(f"<text {across}>milliseconds per row</text>")
    middle = _ABOVE + _TALL / 2
    turn = f'transform="rotate(-90 11 {middle})"'
    parts.append(f'<text x="11" y="{middle}" text-anchor="middle" {turn}>{html.escape(up)}</text>')
    places = [
        (name, _COST_LEFT + cost / most * _WIDE, _ABOVE + (1 - (quality - low) / (high - low)) * _TALL)
        for name, cost, quality in points
    ]
    for at, (_, x, y) in enumerate(places):
        parts.append(
            f'<circle class="dot l{min(at, 1)}" cx="{x:.1f}" cy="{y:.1f}" r="{6 if at == 0 else 4}"/>'
        )
    parts += _names(places)
    return _figure(title, _COST_LEFT + _WIDE + _COST_RIGHT, _TALL + _ABOVE + _BELOW, parts)


def _bounds(points: Sequence[tuple[str, float, float]]) -> tuple[float, float, float]:
    """Returns the greatest cost, and the least and the greatest quality of the axes."""
    heights = [quality for _, _, quality in points]
    low, high = min(heights), max(heights)
    room = (high - low) * 0.15 or max(abs(high), 1.0) * 0.05
    return max(*(cost for _, cost, _ in points), 1e-9) * 1.15, low - room, high + room


def _ticks(low: float, high: float) -> list[float]:
    """Returns three to six round numbers between two others."""
    rough = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))
    return [round(at * step, 12) for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _names(places: Sequence[tuple[str, float, float]]) -> list[str]:
    """Returns the names of points, beside them, lower where another name would be covered."""
    parts: list[str] = []
    taken: list[tuple[float, float, float]] = []
    for name, x, y in sorted(places, key=lambda one: one[2]):
        width = len(name) * _LETTER
        is_right = x + width + 9 < _COST_LEFT + _WIDE + _COST_RIGHT
        start = x + 9 if is_right else x - 9 - width
        while any(start < end and begin < start + width and abs(y - at) < _LINE for begin, end, at in taken):
            y += 1
        taken.append((start, start + width, y))
        text_at, anchor = (x + 9, "start") if is_right else (x - 9, "end")
        shown = html.escape(name)
        parts.append(
            f'<text class="name" x="{text_at:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}">{shown}</text>'
        )
    return parts


def confusion_table(title: str, classes: Sequence[str], counts: Sequence[Sequence[int]]) -> str:
    """Returns a table of rows by their class and the answered one, darker where there are more."""
    most = max((count for row in counts for count in row), default=0) or 1
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in classes)
    rows = []
    for name, row in zip(classes, counts, strict=True):
        shares = [count / most for count in row]
        cells = "".join(
            f'<td style="--share:{share:.3f}">{count:,}</td>'
            for count, share in zip(row, shares, strict=True)
        )
        rows.append(f'<tr><th scope="row">{html.escape(name)}</th>{cells}</tr>')
    return (
        f"<figure><figcaption>{html.escape(title)}</figcaption>"
        f'<div class="wide" tabindex="0" role="region" aria-label="{html.escape(title)}"><table class="confusion">'
        f'<thead><tr><th scope="col">label \\ answer</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div></figure>"
    )
