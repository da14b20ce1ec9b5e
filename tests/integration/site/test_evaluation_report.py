"""The page of ``evaluate --report`` in a real Chromium: it asks nobody for anything, and fits any screen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np

from beam_ensembles.cli.main import main
from scripts.environments import locked_environment
from tests.integration.site.test_site import SCREENS, chromium

VOTE = """\
ensemble: votes
description: Two columns of probabilities & a vote, <em>without a model</em>.
inputs: {p: "array<double>[2]", q: "array<double>[2]"}
nodes:
  vote:
    combine: soft_vote
    inputs: [p, q]
    labels: ["no", "yes"]
    outputs: {label: string, probabilities: "array<double>[2]"}
  first: {combine: first, inputs: [p], outputs: {first: "array<double>[2]"}}
  one: {combine: soft_vote, inputs: [first], labels: ["no", "yes"], outputs: {one: {from: label}}}
outputs: [label, probabilities, one]
"""


def test_the_page_is_right_in_a_browser(tmp_path: Path) -> None:
    browser = chromium()
    drawn = np.random.default_rng(0)
    rows = []
    for _ in range(300):
        p, q = drawn.uniform(size=2)
        kind = "yes" if drawn.uniform() < (p + q) / 2 else "no"
        rows.append(
            {"p": [1 - p, p], "q": [1 - q, q], "kind": kind, "place": str(drawn.choice(["<a>", "b"]))}
        )
    (tmp_path / "votes.yaml").write_text(VOTE)
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    page = tmp_path / "report.html"
    given = [str(tmp_path / "votes.yaml"), "--input", str(tmp_path / "rows.jsonl"), "--label", "kind"]
    assert main(["evaluate", *given, "--by", "place", "--report", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "<em>" not in text
    assert "<a>" not in text
    python = locked_environment("docs") / "bin" / "python"
    command = [python, Path(__file__).with_name("look_at_report.py"), page, browser, SCREENS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
