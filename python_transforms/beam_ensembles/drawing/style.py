"""The colours of a picture on a light page, and text as XML holds it."""

from __future__ import annotations

import html
from typing import Final

from beam_ensembles.drawing.picture import COMPARISON, CONDITION, DATA, ROW

INK: Final = "#111827"
FAINT: Final = "#4b5563"
COLOURS: Final = {
    ROW: ("#f3f4f6", "#6b7280"),
    "model": ("#dfeafe", "#3b6fd4"),
    "combine": ("#dff5e6", "#2f8f56"),
    "route": ("#fdf0cd", "#b7791f"),
    "apply": ("#efe6fd", "#8153d0"),
}
"""What each shape is filled with, and its border."""
LINES: Final = {DATA: "#64748b", CONDITION: "#b45309", COMPARISON: "#64748b"}
DASHES: Final = {CONDITION: "6 3", COMPARISON: "2 4"}


def text_of(text: str) -> str:
    """Returns a text as it may stand in XML, without the characters that no XML can hold."""
    allowed = (
        one for one in text if one in "\t\n" or (one >= " " and one.isprintable()) or ord(one) > 0xFFFF
    )
    return html.escape("".join(allowed))
