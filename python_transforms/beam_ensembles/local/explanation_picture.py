"""An explanation as a picture: that of the ensemble, with the row's values on its edges."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Mapping
from typing import Final

from beam_ensembles.drawing import Picture, picture, svg
from beam_ensembles.drawing.picture import ROW_IN, ROW_OUT, Figure, Flow
from beam_ensembles.drawing.words import cut
from beam_ensembles.graph import plan
from beam_ensembles.local.explanation import Explanation, NodeAccount, Value, shown_value
from beam_ensembles.local.explanation_text import as_text, state_of

_LONGEST: Final = 16


def explained_picture(explanation: Explanation) -> Picture:
    """Returns what there is to draw: columns with their values, nodes with what they did."""
    found = picture(explanation.graph, plan(explanation.graph))
    accounts = {node.name: node for node in explanation.nodes}
    values = explanation.values
    figures = tuple(_figure(figure, accounts, explanation) for figure in found.figures)
    note = f"The values of {explanation.row or 'one row'}."
    if explanation.failed:
        note = f"{note} It failed at {explanation.failed}."
    return dataclasses.replace(
        found, figures=figures, flows=tuple(_flow(flow, values) for flow in found.flows), note=note
    )


def explanation_svg(explanation: Explanation) -> str:
    """Returns the picture as the text of an SVG document."""
    return svg(explained_picture(explanation))


def as_html(explanation: Explanation) -> str:
    """Returns the picture and the text below it, for notebooks; a picture that would be too large is left out."""
    found = explained_picture(explanation)
    text = f"<pre>{html.escape(as_text(explanation))}</pre>"
    return f"<div>{svg(found) if found.fits_svg else ''}{text}</div>"


def _flow(flow: Flow, values: Mapping[str, Value]) -> Flow:
    return dataclasses.replace(flow, columns=tuple(_with_value(name, values) for name in flow.columns))


def _with_value(column: str, values: Mapping[str, Value]) -> str:
    known = values.get(column)
    return column if known is None else f"{cut(column, 12)} = {cut(shown_value(known.value), _LONGEST - 3)}"


def _figure(figure: Figure, accounts: Mapping[str, NodeAccount], explanation: Explanation) -> Figure:
    if figure.name in (ROW_IN, ROW_OUT):
        shown = explanation.inputs if figure.name == ROW_IN else explanation.outputs
        about = tuple(f"{value.column} = {value.text()}" for value in shown)
        return dataclasses.replace(figure, about=(figure.title, *about))
    account = accounts[figure.name]
    error, said = ((f"[{account.code}]",), (account.error,)) if account.code else ((), ())
    about = tuple(f"{value.column} = {value.text()}" for value in (*account.read, *account.added))
    lines = (*figure.lines, state_of(account), *error)
    return dataclasses.replace(figure, lines=lines, about=(*figure.about, *lines, *about, *said))
