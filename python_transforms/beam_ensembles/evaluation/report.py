"""An evaluation as one HTML page that needs nothing else: no script, no font, no other host."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Final

from beam_ensembles import __version__
from beam_ensembles.drawing import picture, svg
from beam_ensembles.evaluation.charts import confusion_table, cost_chart, unit_chart
from beam_ensembles.evaluation.results import Evaluation
from beam_ensembles.evaluation.tables import Table, facts, tables_of, verdict
from beam_ensembles.graph import EnsembleGraph, plan

_MOST_CLASSES: Final = 25
_STYLE: Final = """\
:root { color-scheme: light dark; --page: #fff; --ink: #0f172a; --faint: #475569; --line: #cbd5e1; --soft: #f1f5f9;
  --heat: 37 99 235; --mark: #fef3c7; --c0: #1d4ed8; --c1: #b45309; --c2: #047857; --c3: #7c3aed; --c4: #be123c;
  --c5: #475569 }
@media (prefers-color-scheme: dark) { :root { --page: #0f172a; --ink: #f1f5f9; --faint: #b6c2d3; --line: #334155;
  --soft: #1e293b; --heat: 96 165 250; --mark: #422006; --c0: #7aa5f5; --c1: #e3b04b; --c2: #5fc98a; --c3: #b494f0;
  --c4: #fb7185; --c5: #94a3b8 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif }
main { max-width: 1240px; margin: 0 auto; padding: 20px 16px 48px }
h1 { font-size: 24px; margin: 0 0 4px } h2 { font-size: 18px; margin: 32px 0 4px }
p { margin: 4px 0 8px } .faint, figcaption { color: var(--faint) }
.verdict { font-size: 17px; border-left: 4px solid var(--c0); padding: 8px 12px; background: var(--soft) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 16px; margin: 12px 0 }
dt { color: var(--faint) } dd { margin: 0; overflow-wrap: anywhere }
.wide { overflow-x: auto; max-width: 100% }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13.5px }
th, td { padding: 4px 7px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line) }
th { font-weight: 600 } th.text, td.text, tbody th { text-align: left } thead th { color: var(--faint) }
tr > :first-child { position: sticky; left: 0; background: var(--page) }
tr.marked, tr.marked > :first-child { background: var(--mark) }
.confusion td { border: 1px solid var(--page); background: rgb(var(--heat) / calc(.06 + .36 * var(--share))) }
.charts { display: flex; flex-wrap: wrap; gap: 20px } figure { margin: 8px 0; max-width: 100% }
svg.chart { max-width: 100%; height: auto; display: block; font-size: 11px } svg.chart text { fill: var(--faint) }
svg.chart .name { fill: var(--ink); font-size: 12px } .grid { stroke: var(--line); fill: none; stroke-width: 1 }
.diagonal { stroke: var(--faint); stroke-dasharray: 4 4; fill: none } .line { fill: none; stroke-width: 1.5 }
.line.l0 { stroke-width: 3 }
.l0 { stroke: var(--c0) } .l1 { stroke: var(--c1) } .l2 { stroke: var(--c2) } .l3 { stroke: var(--c3) }
.l4 { stroke: var(--c4) } .l5 { stroke: var(--c5) } .dot { stroke-width: 1.5; fill: var(--page) }
.legend { list-style: none; margin: 4px 0 0; padding: 0; font-size: 13px; display: flex; flex-wrap: wrap; gap: 2px 14px;
  max-width: 320px }
.key { display: inline-block; width: 14px; height: 4px; margin-right: 6px; vertical-align: middle }
.k0 { background: var(--c0) } .k1 { background: var(--c1) } .k2 { background: var(--c2) }
.k3 { background: var(--c3) } .k4 { background: var(--c4) } .k5 { background: var(--c5) }
"""


def report(found: Evaluation) -> str:
    """Returns the page."""
    title = f"Evaluation of {found.graph.spec.name}"
    return page(title, "\n".join(_body(found, title)))


def page(title: str, body: str) -> str:
    """Returns a page that needs nothing else, from its title and the HTML of its body."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_text(title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n"
        "</html>\n"
    )


def _text(text: str) -> str:
    return html.escape(text)


def _body(found: Evaluation, title: str) -> Iterator[str]:
    yield f"<h1>{_text(title)}</h1>"
    if found.graph.spec.description:
        yield f'<p class="faint">{_text(found.graph.spec.description)}</p>'
    yield f'<p class="verdict">{_text(verdict(found))}</p>'
    said = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts(found))
    yield f"<dl>{said}</dl>"
    for at, table in enumerate(tables_of(found)):
        yield table_html(table)
        if at == 0:
            yield from _charts(found)
    if found.notes:
        yield "<h2>Notes</h2><ul>"
        yield "".join(f"<li>{_text(note)}</li>" for note in found.notes)
        yield "</ul>"
    yield from graph_html(found.graph)
    settings = ", ".join(f"{name} {value}" for name, value in found.settings.items())
    yield f'<p class="faint">beam-ensembles {_text(__version__)}; {_text(settings)}</p>'


def table_html(table: Table) -> str:
    """Returns a table with its title."""
    texts = [
        all(not any(letter.isdigit() for letter in row[at][:2]) for row in table.rows)
        for at in range(len(table.head))
    ]
    head = "".join(
        f'<th scope="col"{_class(is_text)}>{_text(name)}</th>'
        for name, is_text in zip(table.head, texts, strict=True)
    )
    rows = []
    for place, row in enumerate(table.rows):
        cells = "".join(
            f"<td{_class(is_text)}>{_text(cell)}</td>"
            for cell, is_text in zip(row[1:], texts[1:], strict=True)
        )
        marked = ' class="marked"' if place in table.marked else ""
        rows.append(f'<tr{marked}><th scope="row">{_text(row[0])}</th>{cells}</tr>')
    about = f'<p class="faint">{_text(table.about)}</p>' if table.about else ""
    return (
        f"<h2>{_text(table.title)}</h2>{about}"
        f'<div class="wide" tabindex="0" role="region" aria-label="{_text(table.title)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _class(is_text: bool) -> str:
    return ' class="text"' if is_text else ""


def _charts(found: Evaluation) -> Iterator[str]:
    shown = [one for one in found.judged if one.rows]
    parts = []
    if any(one.curves.reliability for one in shown):
        lines = [
            (one.name, [(claimed, came) for claimed, came, _ in one.curves.reliability])
            for one in shown
            if one.curves.reliability
        ]
        parts.append(unit_chart("Reliability", "mean probability", "share that is so", lines, diagonal=True))
    if any(one.curves.roc for one in shown):
        lines = [(one.name, one.curves.roc) for one in shown if one.curves.roc]
        parts.append(unit_chart("ROC", "false positive rate", "true positive rate", lines, diagonal=True))
        lines = [(one.name, one.curves.precision) for one in shown if one.curves.precision]
        parts.append(unit_chart("Precision and recall", "recall", "precision", lines, diagonal=False))
    if 1 < len(found.classes) <= _MOST_CLASSES and found.ensemble.curves.confusion:
        title = "Confusion of the ensemble: rows by label and answer"
        parts.append(confusion_table(title, found.classes, found.ensemble.curves.confusion))
    parts += _cost(found)
    if parts:
        yield f'<h2>Diagrams</h2><div class="charts">{"".join(parts)}</div>'


def _cost(found: Evaluation) -> list[str]:
    total = sum(cost.milliseconds for cost in found.costs) / found.rows
    costs = {cost.name: cost.per_row for cost in found.costs}
    points = []
    for one in found.judged:
        quality = one.metrics.get(found.main)
        if quality is not None:
            points.append((one.name, total if one.role == "ensemble" else costs[one.name], quality))
    if len(points) < 2:
        return []
    name = found.metric_names[found.main]
    better = "higher" if found.main in ("accuracy", "mrr", "hit") else "lower"
    return [cost_chart(f"Cost against quality: {better} is better", name, points)]


def graph_html(graph: EnsembleGraph) -> Iterator[str]:
    """Yields the picture of an ensemble, where it is not too large."""
    drawn = picture(graph, plan(graph))
    if drawn.fits_svg:
        label = "The ensemble"
        yield f'<h2>{label}</h2><div class="wide" tabindex="0" role="region" aria-label="{label}">{svg(drawn)}</div>'
