"""``validate --load``: loads the models, asks them rows, and says what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from beam_ensembles.cli.main import main
from tests.support.models import write_graph
from tests.support.tried_models import HERE, Estimator

CLASSES = ["cold", "warm"]


@pytest.fixture
def model(tmp_path: Path) -> dict[str, Any]:
    """A node of a model with two classes."""
    x = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    joblib.dump(LogisticRegression().fit(x, np.array(CLASSES)[[0, 0, 1, 1]]), tmp_path / "model.joblib")
    outputs = {"p": "array<double>[2]"}
    return {
        "model": "sklearn", "uri": "model.joblib", "method": "predict_proba", "inputs": ["x"], "outputs": outputs
    }  # fmt: skip


def tried(folder: Path, way: str, **more: Any) -> dict[str, Any]:
    joblib.dump(Estimator(way), folder / f"{way}.joblib")
    return {"model": "sklearn", "uri": f"{way}.joblib", "inputs": ["x"], "outputs": {way: "double"}, **more}


def write(folder: Path, **nodes: Any) -> str:
    path = folder / "e.json"
    path.write_text(json.dumps({"ensemble": "e", "inputs": {"x": "array<double>[2]"}, "nodes": nodes}))
    return str(path)


def rows(folder: Path, *values: Any) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{json.dumps({'id': at, 'x': value})}\n" for at, value in enumerate(values)))
    return str(path)


def test_it_says_what_loads_with_what_and_how_long_it_takes(
    tmp_path: Path, model: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path, temperature=model, half={"apply": "argmax", "inputs": ["p"], "outputs": {"top": "int64"}}
    )
    assert main(["validate", path, "--load"]) == 0
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == f"OK {path}: ensemble 'e'"
    assert [line.split(" with sklearn ")[0] for line in lines if line.startswith("  loads")] == [
        "  loads  temperature: sklearn"
    ]
    assert any(line.startswith("         answers made-up rows (1, 2, 5 at once), in ") for line in lines)
    assert lines[-2:] == ["         knows the classes cold, warm", "         returns p: float64 [N, 2]"]
    assert not printed.err


def test_with_rows_it_scores_them(tmp_path: Path, model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, temperature=model)
    assert main(["validate", path, "--load", "--rows", rows(tmp_path, [0, 1], [1, 0]), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["problems"] == found["warnings"] == []
    assert found["rows"] == {"scored": 2, "failed": 0, "failures": []}
    (node,) = found["nodes"]
    assert (node["node"], node["classes"], node["gives"]) == ("temperature", CLASSES, {"p": "float64 [N, 2]"})
    assert node["trial"]["rows"] == [1, 2, 5]
    assert node["metrics"]["num_inferences"] == 2  # those of the trial are not counted
    assert node["versions"]["sklearn"]


def test_rows_that_fail_are_said_and_end_it_with_1(
    tmp_path: Path, model: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    given = rows(tmp_path, [0, 1], [0], None)
    assert main(["validate", write(tmp_path, temperature=model), "--load", "--rows", given]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"not valid {given}: 2 rows failed"
    assert "  scores 1 row; 2 failed" in lines
    assert "    row 2: [wrong_length] inputs: input 'x' holds 1 values, array<double>[2] needs 2" in lines
    assert any(line.startswith("    row 3: [null_value] inputs: ") for line in lines)


def test_every_model_that_cannot_be_right_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(
        tmp_path, a=tried(tmp_path, "old"), b=tried(tmp_path, "pairs_only"), c=tried(tmp_path, "good")
    )
    assert main(["validate", path, "--load"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"not valid {path}: 2 problems"
    assert lines[1].startswith("  [load_failed] nodes.a.uri: it answers no row: AttributeError: ")
    assert lines[2].startswith(
        "  [signature_mismatch] nodes.b.uri: asked made-up rows: it answers two rows at once"
    )


def test_what_is_likely_wrong_is_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, a=tried(tmp_path, "mixing"), b=tried(tmp_path, "picky"))
    assert main(["validate", path, "--load"]) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith(f"warning {path}: node 'a': a row's answer depends on the rows beside it ")
    assert len(printed.err.splitlines()) == 1
    assert (
        "takes none of the made-up rows, so it was not tried: ValueError: Found unknown categories"
        in printed.out
    )


def test_a_shadow_that_cannot_be_loaded_is_one_too(
    tmp_path: Path, model: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    shadow = tried(tmp_path, "old", shadow_of="good")
    assert main(["validate", write(tmp_path, good=tried(tmp_path, "good"), next=shadow), "--load"]) == 0
    assert "nodes.next.uri: it answers no row" in capsys.readouterr().err


@pytest.mark.usefixtures("forked_children")
def test_a_handler_of_ones_own_and_a_graph_say_their_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_graph(tmp_path / "m.onnx", [("Add", ["X", "X"], ["Y"], {})], [("X", "DOUBLE", ["N", 2])],
                [("Y", "DOUBLE", ["N", 2])])  # fmt: skip
    graph = {"model": "onnx", "uri": "m.onnx", "inputs": ["x"], "outputs": {"twice": {"from": "Y"}}}
    own = {"model": "python", "handler": f"{HERE}.Handler", "inputs": ["x"], "outputs": {"sum": "double"}}
    elsewhere = own | {"isolate": "process", "outputs": {"apart": "double"}}
    path = write(tmp_path, graph=graph, own=own, elsewhere=elsewhere)
    assert main(["validate", path, "--load", "--json"]) == 0
    found = {node["node"]: node for node in json.loads(capsys.readouterr().out)["nodes"]}
    assert set(found["graph"]["versions"]) == {"onnx", "onnxruntime"}
    assert found["graph"]["gives"] == {"twice": "float64 [N, 2]"}
    assert found["elsewhere"]["gives"] == {"apart": "float64 [N]"}


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--rows", "rows.jsonl"], "--rows is for the models that --load loads; add --load"),
        (["--load", "--rows", "none.jsonl"], "there is no file 'none.jsonl'"),
        (["--load", "--rows", "e.json"], "'e.json' has none of the suffixes .csv, .jsonl, .parquet; "
         "JSON lines end in .jsonl"),
    ],
)  # fmt: skip
def test_a_call_that_cannot_be_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: Any, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, a=tried(tmp_path, "good"))
    assert main(["validate", "e.json", *more]) == 2
    assert capsys.readouterr().err == f"beam-ensembles validate: {text}\n"


def test_a_file_of_rows_that_is_none_is_wrong(
    tmp_path: Path, model: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.csv").write_text("y\n1\n")
    given = str(tmp_path / "rows.csv")
    assert main(["validate", write(tmp_path, temperature=model), "--load", "--rows", given, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["problems"][0]["path"] == "input.x"
