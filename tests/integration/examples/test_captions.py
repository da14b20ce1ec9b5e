"""The captions example with models that were trained for it: right captions come first, and are drawn once for all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from examples.captions import pipeline, summary
from scripts import answers
from scripts.examples.table import EXAMPLES

pytestmark = pytest.mark.timeout(900)  # the models are trained, where they are not there yet

(CAPTIONS,) = (example for example in EXAMPLES if example.name == "captions")


def captioned(rows: list[str], folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Runs the pipeline over lines of the example's rows; gives the captioned ones and the errors, by id."""
    folder.mkdir()
    (folder / "rows.jsonl").write_text("".join(rows))
    files = [f"--input={folder / 'rows.jsonl'}", f"--output={folder / 'out'}"]
    pipeline.main([*files, f"--pictures={CAPTIONS.results}", "--runner=FnApiRunner"])
    texts = [(folder / name).read_text() for name in ("out", "out.errors")]
    scored, failed = ([json.loads(line) for line in text.splitlines()] for text in texts)
    return sorted(scored, key=lambda row: row["id"]), sorted(failed, key=lambda row: row["id"])


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """The example's rows; the models are made where that was not done yet."""
    CAPTIONS.make_models()
    return CAPTIONS.input.read_text(encoding="utf-8").splitlines(keepends=True)


def test_right_captions_come_first(lines: list[str], tmp_path: Path) -> None:
    scored, failed = captioned(lines, tmp_path / "all")
    assert len(scored) == CAPTIONS.scored
    assert summary.share(scored) >= summary.WANTED
    assert [(row["url"], row["code"]) for row in failed] == [
        ("pictures/broken.png", "wrong_value"),
        ("pictures/missing.png", "missing_file"),
    ]
    for row in scored:
        shares = [text["probability"] for text in row["top"]]
        assert 1 <= len(row["top"]) <= 3
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) <= 1 + 1e-6
        assert {text["text"] for text in row["top"]} <= set(row["captions"])
        assert len(row["captions"]) == 5


def test_captions_are_the_same_in_any_company(lines: list[str], tmp_path: Path) -> None:
    some, _ = captioned(lines[:20], tmp_path / "some")
    few, _ = captioned(lines[7:4:-1], tmp_path / "few")
    assert answers.differences("some", some[5:8], "few", few) == []
