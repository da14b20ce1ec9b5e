"""``plan``: the stages, their reasons, batches, workers and columns, for people and for programs."""

from __future__ import annotations

import json
import pathlib

import pytest

from beam_ensembles.cli.main import main
from beam_ensembles.cli.plan import described
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import Plan, Stage, check_text
from beam_ensembles.graph.planning import Gathering
from beam_ensembles.registry import KINDS

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"
VOTES = str(GOLDEN / "specs" / "votes.yaml")
NETWORK = str(GOLDEN / "specs_invalid" / "models" / "network.onnx")
CASCADE = {
    "ensemble": "cascade",
    "inputs": {"x": "array<float>[4]"},
    "nodes": {
        "cheap": {
            "model": "onnx",
            "uri": NETWORK,
            "inputs": ["x"],
            "batch": {"max": 64},
            "outputs": {"label": "int64", "probabilities": "array<float>[3]"},
        },
        "soft": {"apply": "softmax", "inputs": ["probabilities"], "outputs": {"soft": "array<float>[3]"}},
    },
    "outputs": ["soft", "label"],
}


def test_one_stage_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", VOTES]) == 0
    lines = [" ".join(line.strip("│").split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "ensemble 'votes': 1 stage"
    assert lines[1] == "1. votes"
    assert "│ vote (combine: soft_vote)" in lines
    assert any(line.startswith("adds to the row │ answer: string") for line in lines)


def test_what_goes_in_and_comes_out_as_data(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", VOTES, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["description"] == "Every kind that there is, once."
    assert found["inputs"] == {"x": "array<double>[4]", "note": "string?"}
    assert found["outputs"] == {
        "answer": "string", "all": "array<double>[3]", "class": "int64", "weighted": "double",
    }  # fmt: skip
    assert found["labels"] == {"answer": ["no", "yes", "maybe"], "all": ["no", "yes", "maybe"]}
    assert found["parameters"] == []
    file = tmp_path / "sum.yaml"
    node = "{apply: sql, select: {y: 'x + ${less} + ${more}'}}"
    file.write_text(f"ensemble: sum\ninputs: {{x: double}}\nnodes: {{sum: {node}}}\n", encoding="utf-8")
    assert main(["plan", str(file), "--json", "--parameter", "more=1", "--parameter", "less=2"]) == 0
    assert json.loads(capsys.readouterr().out)["parameters"] == ["less", "more"]


def test_several_stages_as_data() -> None:
    """A plan made by hand: what is said of it does not depend on what the planner cuts today."""
    graph = check_text(json.dumps(CASCADE), KINDS, Files("/", is_own=True))
    cheap, soft = graph.nodes
    plan = Plan((
        Stage("cascade", (), "the rows are read"),
        Stage("cascade/cheap", (cheap,), "'cheap' waits", Gathering(cheap, 2.5)),
        Stage("cascade/soft", (soft,), "'soft' needs memory", resources={"min_ram": "16GB"}),
    ))  # fmt: skip
    first, second, third = described(graph, plan)["stages"]
    assert first == {
        "name": "cascade", "reason": "the rows are read", "nodes": [], "gathers": None, "resources": {},
        "carries": {"x": "array<float>[4]"},
    }  # fmt: skip
    assert second["gathers"] == {"node": "cheap", "max_wait": 2.5}
    assert [(node["name"], node["runs"], node["batch"]) for node in second["nodes"]] == [
        ("cheap", "onnx", {"max": 64})
    ]
    assert second["carries"] == {"label": "int64", "probabilities": "array<float>[3]"}
    assert third["resources"] == {"min_ram": "16GB"}
    assert third["carries"] == {"soft": "array<float>[3]", "label": "int64"}


def test_several_stages_for_people(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    nodes = {name: dict(node) for name, node in CASCADE["nodes"].items()}  # type: ignore[attr-defined]
    nodes["cheap"] |= {"device": "cpu"}
    nodes["soft"] |= {"stage": "own", "resources": {"min_ram": "16GB"}, "when": "label = 1"}
    path = tmp_path / "cascade.json"
    path.write_text(json.dumps(CASCADE | {"nodes": nodes}), encoding="utf-8")
    assert main(["plan", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for words in (
        "ensemble 'cascade': 2 stages", "1. cascade", "calls of cheap: max 64", "cheap runs on the cpu",
        "carries on label: int64 probabilities: array<float>[3]", "2. cascade/soft",
        "why 'soft' asks for a stage of its own", "soft (apply: softmax) when label = 1", "workers min_ram: 16GB",
        "adds to the row soft: array<float>[3]?",
    ):  # fmt: skip
        assert words in text, words


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", VOTES, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ensemble"] == "votes"
    (stage,) = found["stages"]
    assert set(stage["carries"]) == {"answer", "all", "class", "weighted"}


def test_a_wrong_file_and_a_wrong_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(GOLDEN / "specs_invalid" / "cycle_two.yaml")]) == 1
    assert main(["plan", "none.yaml"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "[cycle]" in printed.err
    assert "there is no file 'none.yaml'" in printed.err
