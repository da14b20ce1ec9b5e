"""The picture of an ensemble: what is in it, as Mermaid's text, and laid out as SVG."""

from __future__ import annotations

from beam_ensembles.drawing.mermaid import mermaid
from beam_ensembles.drawing.picture import Picture, picture, picture_of_names
from beam_ensembles.drawing.svg import svg

__all__ = ["Picture", "mermaid", "picture", "picture_of_names", "svg"]
