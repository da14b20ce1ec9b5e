"""A tuning as one HTML page, with cost against quality."""

from __future__ import annotations

import html
from collections.abc import Iterator

from beam_ensembles.evaluation.charts import unit_chart
from beam_ensembles.evaluation.report import graph_html, page, table_html
from beam_ensembles.tuning.results import Point, Tuned
from beam_ensembles.tuning.tables import facts, tables_of


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
    most = max(point.cost for point in found.points) or 1.0
    certain = [point for point in found.points if point.is_certified]
    others = [point for point in found.points if not point.is_certified]
    lines = [("certain to reach the target", _line(certain, most))]
    if others:
        lines.append(("not certain", _line(others, most)))
    name = found.reached[0].target.name
    across = f"time per row, as a share of the most ({most:.3g} ms)"
    return unit_chart(f"{name}, on the rows to tune on", across, name, lines, diagonal=False)


def _line(points: list[Point], most: float) -> list[tuple[float, float]]:
    return sorted((point.cost / most, point.quality) for point in points)
