"""The text example: its tiny models are right about texts that they have not seen, and nodes are switched off."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.text import pipeline
from examples.text.summary import read
from scripts.examples.table import EXAMPLES

(TEXT, LABELS) = (example for example in EXAMPLES if example.folder.name == "text")
EVERYTHING = {
    *("id", "text", "category", "category_score", "sentiment", "sentiment_score", "summary", "french", "keywords"),
}  # fmt: skip
LEAST = {"category": 0.95, "sentiment": 0.95, "summary": 0.8, "french": 0.8}
"""For how many of the texts a column must be right; what is written, to the letter."""


@pytest.fixture(scope="module", autouse=True)
def _models() -> None:
    TEXT.make_models()


def run(folder: Path, *flags: str) -> Path:
    """Runs the Python pipeline; gives the file that it writes."""
    output = folder / "enriched.jsonl"
    pipeline.main([f"--input={TEXT.input}", f"--output={output}", "--runner=FnApiRunner", *flags])
    return output


def test_the_tiny_models_are_right_about_texts_that_they_have_not_seen(tmp_path: Path) -> None:
    enriched = read(run(tmp_path))
    right = read(TEXT.input.with_name("right.jsonl"))
    assert len(enriched) == TEXT.scored
    assert set(enriched[0]) == EVERYTHING
    for column, least in LEAST.items():
        known = sum(enriched[id_][column] == facts[column] for id_, facts in right.items())
        assert known >= least * len(right), column


def test_what_is_switched_off_adds_no_columns(tmp_path: Path) -> None:
    rows = read(run(tmp_path, f"--off={LABELS.flags['off']}"))
    assert len(rows) == LABELS.scored
    assert set(rows[0]) == EVERYTHING - {"summary", "french", "keywords"}
