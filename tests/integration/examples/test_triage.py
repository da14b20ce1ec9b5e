"""The triage example: a real server reads the tickets about which the classifier is unsure, and what that costs."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.triage import pipeline, summary
from scripts.chat_server import serving_chat
from scripts.examples.table import EXAMPLES

(TRIAGE,) = [example for example in EXAMPLES if example.name == "triage"]
READ = ("urgency", "product", "summary")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    TRIAGE.make_models()
    with serving_chat(TRIAGE.models / TRIAGE.served) as url:
        yield url


def ordered(folder: Path, server: str) -> list[dict[str, Any]]:
    """Runs the Python pipeline; gives its rows, by id."""
    output = folder / "sorted.jsonl"
    pipeline.main(
        [f"--input={TRIAGE.input}", f"--output={output}", f"--server={server}", "--runner=FnApiRunner"]
    )
    return summary.read(output)


def test_a_language_model_reads_what_the_classifier_is_unsure_about(server: str, tmp_path: Path) -> None:
    rows = ordered(tmp_path, server)
    right = summary.read(TRIAGE.input.with_name("right.jsonl"))
    assert len(rows) == TRIAGE.scored
    read = [row for row in rows if row["read"] is not None]
    assert 0.1 <= len(read) / len(rows) <= 0.5
    assert all(row[column] is None for row in rows if row not in read for column in (*READ, "second"))
    for column in ("urgency", "product", "summary"):
        assert summary.share(read, right, column, column) >= 0.95, column
    assert summary.share(rows, right, "language", "language") >= 0.95
    alone = summary.share(rows, right, "guess", "category")
    assert summary.share(rows, right, "category", "category") >= max(0.97, alone + 0.05)


def test_without_a_server_the_guess_stands(server: str, tmp_path: Path) -> None:
    del server  # makes the models
    rows = ordered(tmp_path, "http://127.0.0.1:1/v1")
    assert [row["category"] for row in rows] == [row["guess"] for row in rows]


def test_what_it_costs(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(TRIAGE.folder)
    costs = importlib.import_module("costs")
    for name in ("rows.jsonl", "right.jsonl"):
        shutil.copy(TRIAGE.input.with_name(name), tmp_path)
    rows = tmp_path / "rows.jsonl"
    given = [f"server={server}", "model=reader"]
    alone, ensemble = (costs.cost(cut, rows, given) for cut in ("0", None))
    assert alone.counts == dict.fromkeys(costs.COUNTED, 0)
    assert ensemble.right > alone.right
    assert 0 < ensemble.counts["calls"] <= TRIAGE.scored
    assert ensemble.counts["tokens_in"] > ensemble.counts["tokens_out"] > ensemble.counts["calls"]
