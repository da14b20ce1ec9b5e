"""``run --metrics``: what the nodes have counted, as a pipeline's are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from beam_ensembles.cli.main import main
from tests.support.counted import COUNTS, FILE, ROWS, counts


@pytest.fixture
def call(tmp_path: Path) -> list[str]:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), encoding="utf-8")
    return ["run", str(FILE), "--input", str(rows), "--output", str(tmp_path / "out.jsonl")]


def test_they_are_those_of_a_pipeline(call: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*call, "--metrics", "--json"])
    (found,) = json.loads(capsys.readouterr().out)["metrics"]
    assert found["ensemble"] == "counted"
    assert counts(found) == COUNTS


def test_people_get_the_table(call: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*call, "--metrics"])
    _, table = capsys.readouterr().out.split("\n\n")
    title, headings, *lines = table.splitlines()
    assert title == "ensemble 'counted'"
    assert headings.split()[:4] == ["node", "answered", "failed", "skipped"]
    nodes, inputs = lines[: len(COUNTS)], lines[len(COUNTS) :]
    assert [line.split()[0] for line in nodes] == sorted(COUNTS)
    assert inputs[0].split()[:2] == ["input", "compared"]
    assert [line.split()[0] for line in inputs[1:]] == sorted(ROWS[0])


def test_only_on_request(call: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main([*call, "--json"])
    assert "metrics" not in json.loads(capsys.readouterr().out)
