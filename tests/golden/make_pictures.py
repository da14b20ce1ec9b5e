"""``python -m tests.golden.make_pictures``: draws the golden pictures again, to be looked at before they are kept."""

from __future__ import annotations

import dataclasses
import pathlib

from beam_ensembles.drawing import mermaid, svg
from tests.unit.drawing.conftest import STAGES, TEXT, drawn

FOLDER = pathlib.Path(__file__).parent / "pictures"

if __name__ == "__main__":
    picture = dataclasses.replace(drawn(TEXT), stages=STAGES)
    (FOLDER / "review.svg").write_text(svg(picture), encoding="utf-8")
    (FOLDER / "review.mmd").write_text(mermaid(picture), encoding="utf-8")
