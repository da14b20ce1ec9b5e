"""``examples/plugin``: its distribution, built and installed, adds two kinds to every way to run an ensemble."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.client_calls import PLUGIN_SCORES
from tests.support.conformance import lines
from tests.support.plugins import EXAMPLE, install_example

FILE = str(EXAMPLE / "applicants.yaml")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    install_example(folder)
    return folder


def run(installed: Path | None, *arguments: str, code: int = 0) -> str:
    """Runs the command with or without the distribution; returns what it prints."""
    paths = [*sys.path, *([str(installed)] if installed else [])]
    done = subprocess.run(
        [sys.executable, "-m", "beam_ensembles.cli.main", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_its_kinds_score_rows(installed: Path, tmp_path: Path) -> None:
    out = tmp_path / "scored.jsonl"
    run(installed, "run", FILE, "--input", str(EXAMPLE / "rows.jsonl"), "--output", str(out))
    assert [row["score"] for row in lines(out)] == list(PLUGIN_SCORES)


def test_list_names_the_distribution(installed: Path) -> None:
    kinds: list[dict[str, Any]] = json.loads(run(installed, "list", "--json"))
    added = [
        (kind["key"], kind["name"]) for kind in kinds if kind["distribution"]["name"] == "acme-ensembles"
    ]
    assert sorted(added) == [("combine", "acme_trimmed_mean"), ("model", "acme_scorecard")]


def test_its_checks_are_made(installed: Path, tmp_path: Path) -> None:
    text = (EXAMPLE / "applicants.yaml").read_text(encoding="utf-8")
    file = tmp_path / "wrong.yaml"
    file.write_text(
        text.replace("middle:", "middle:\n    drop: 2").replace("rich.json", "none.json"), "utf-8"
    )
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "young.json").write_text('{"start": "much"}', encoding="utf-8")
    (tmp_path / "cards" / "both.json").write_text('{"start": 1, "points": {"age": 1}}', encoding="utf-8")
    problems = json.loads(run(installed, "validate", str(file), "--json", code=1))["problems"]
    assert [(problem["path"], problem["code"]) for problem in problems] == [
        ("nodes.young.uri", "bad_model_file"),
        ("nodes.rich.uri", "missing_file"),
        ("nodes.both.inputs", "signature_mismatch"),
        ("nodes.middle.drop", "bad_value"),
    ]


def test_its_combiner_refuses_positions_of_classes_in_other_orders(installed: Path, tmp_path: Path) -> None:
    model = {"model": "python", "handler": "tests.support.largest_feature.LargestFeature", "inputs": ["x"]}
    nodes: dict[str, Any] = {}
    for name, labels in {"a": ["no", "yes"], "b": ["yes", "no"], "c": ["no", "yes"]}.items():
        nodes[f"{name}_model"] = model | {"labels": labels, "outputs": {f"{name}_p": "array<double>[2]"}}
        nodes[name] = {"apply": "argmax", "inputs": [f"{name}_p"], "outputs": {f"{name}_at": "int64"}}
    members = ["a_at", "b_at", "c_at"]
    nodes["middle"] = {"combine": "acme_trimmed_mean", "inputs": members, "outputs": {"mean": "double"}}
    spec = {"ensemble": "orders", "inputs": {"x": "array<double>[4]"}, "nodes": nodes}
    file = tmp_path / "orders.yaml"
    file.write_text(json.dumps(spec), encoding="utf-8")
    problems = json.loads(run(installed, "validate", str(file), "--json", code=1))["problems"]
    assert [(problem["path"], problem["code"]) for problem in problems] == [
        ("nodes.middle.inputs[1]", "label_mismatch"),
    ]


def test_without_it_its_kinds_are_unknown() -> None:
    out = run(None, "validate", FILE, code=1)
    assert out.count("[unknown_kind]") == 4
    assert "there is no model 'acme_scorecard' (allowed: catboost, chat, decisions, embed, " in out
