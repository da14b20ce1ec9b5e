"""What a digits pipeline wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


def answers(file: Path) -> dict[int, tuple[str, object]]:
    """Reads the label and the confidence of each image; confidences of two languages are compared with a tolerance."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {int(row["id"]): (row["label"], pytest.approx(row["confidence"], abs=1e-5)) for row in rows}
