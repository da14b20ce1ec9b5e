"""A tuning as one HTML page, with cost against quality."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Final

from beam_ensembles.evaluation.charts import cost_chart
from beam_ensembles.evaluation.report import graph_html, page, table_html
from beam_ensembles.tuning.results import Point, Tuned
from beam_ensembles.tuning.tables import facts, tables_of

_WIDE: Final = 0.45
_HIGH: Final = 0.08
"""The least distances of points in the diagram, as shares of its sides."""


def report(found: Tuned) -> str:
    """Returns the page."""
    title = f"Tuning of {found.graph.spec.name}"
    return page(title, "\n".join(_body(found, title)))


def _body(found: Tuned, title: str) -> Iterator[str]:
    yield f"<h1>{html.escape(title)}</h1>"
    yield f'<p class="verdict">{html.escape(found.verdict)}</p>'
    said = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in facts(found)
    )
    yield f"<dl>{said}</dl>"
    for table in tables_of(found):
        yield table_html(table)
    if len(found.points) > 1:
        yield f'<h2>Cost against quality</h2><div class="charts">{_chart(found)}</div>'
    if found.notes:
        yield f"<h2>Notes</h2><ul>{''.join(f'<li>{html.escape(note)}</li>' for note in found.notes)}</ul>"
    yield from graph_html(found.graph)


def _chart(found: Tuned) -> str:
    chosen = tuple(number.after for number in found.numbers)
    first = next(point for point in found.points if point.values == chosen)
    shown = [first]
    low, high = (pick(point.quality for point in found.points) for pick in (min, max))
    most = max(point.cost for point in found.points) or 1.0
    for point in found.points:  # labels must not cover each other
        beside = (
            abs(point.cost - one.cost) < _WIDE * most
            and abs(point.quality - one.quality) < _HIGH * (high - low)
            for one in shown
        )
        if not any(beside):
            shown.append(point)
    points = [(_name(point), point.cost, point.quality) for point in shown]
    name = found.reached[0].target.name
    return cost_chart(f"{name} on the rows to tune on; large: what was chosen", name, points)


def _name(point: Point) -> str:
    values = ", ".join(f"{value:.3g}" for value in point.values)
    return values if point.is_certified else f"{values} (not certain)"
