"""Each extra alone is enough for the nodes of its own kind: they score the same rows as with all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.extras import extra_environment
from tests.support.models import iris, make_sklearn, make_xgboost

FLOWERS = iris().x[::10]


def sklearn_node(folder: Path) -> dict[str, Any]:
    make_sklearn(folder)
    return {"model": "sklearn", "uri": "logistic.joblib", "method": "predict_proba"}


def onnx_node(folder: Path) -> dict[str, Any]:
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit(iris().x, np.eye(3)[iris().y])
    graph = to_onnx(model, iris().x[:1].astype(np.float32))
    (folder / "linear.onnx").write_bytes(graph.SerializeToString())
    return {"model": "onnx", "uri": "linear.onnx"}


def xgboost_node(folder: Path) -> dict[str, Any]:
    make_xgboost(folder)
    return {"model": "xgboost", "uri": "iris.json"}


def pytorch_node(folder: Path) -> dict[str, Any]:
    import torch

    torch.manual_seed(1)
    torch.save(torch.nn.Linear(4, 3).state_dict(), folder / "linear.pt")
    params = {"in_features": 4, "out_features": 3}
    return {"model": "pytorch", "uri": "linear.pt", "model_class": "torch.nn.Linear", "model_params": params}


def tensorflow_node(folder: Path) -> dict[str, Any]:
    from tests.support.tensorflow_models import iris_network

    iris_network().save(folder / "iris.keras")
    return {"model": "tensorflow", "uri": "iris.keras"}


NODES = [
    ("sklearn", sklearn_node),
    ("onnx", onnx_node),
    ("xgboost", xgboost_node),
    ("pytorch", pytorch_node),
    ("tensorflow", tensorflow_node),
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("extra", "make"), NODES, ids=[extra for extra, _ in NODES])
def test_an_extra_is_enough(extra: str, make: Callable[[Path], dict[str, Any]], tmp_path: Path) -> None:
    python = extra_environment(extra)
    node = {**make(tmp_path), "inputs": ["x"], "outputs": {"y": "array<float>[3]"}}
    spec = {"ensemble": "alone", "inputs": {"x": "array<double>[4]"}, "nodes": {"node": node}}
    (tmp_path / "alone.json").write_text(json.dumps(spec), encoding="utf-8")
    rows = "".join(json.dumps({"x": row.tolist()}) + "\n" for row in FLOWERS)
    (tmp_path / "rows.jsonl").write_text(rows, encoding="utf-8")
    answers = {name: scored(used, tmp_path, name) for name, used in (("alone", python), ("all", None))}
    np.testing.assert_array_equal(answers["alone"], answers["all"])
    assert answers["alone"].shape == (len(FLOWERS), 3)


@pytest.mark.timeout(600)
def test_what_is_not_installed_is_named_with_its_extra(tmp_path: Path) -> None:
    python = extra_environment("onnx")
    listed = run(python, "list", "--json")
    found = {kind["name"]: kind for kind in json.loads(listed)}
    assert found["onnx"]["installed"]
    assert not found["tensorflow"]["installed"]
    assert found["tensorflow"]["install"] == "pip install 'beam-ensembles[tensorflow]'"


def scored(python: Path | None, folder: Path, name: str) -> np.ndarray[Any, np.dtype[Any]]:
    """Scores the rows with the Python of an environment, or with that of the tests."""
    output = folder / f"{name}.jsonl"
    run(python, "run", folder / "alone.json", "--input", folder / "rows.jsonl", "--output", output)
    return np.array([json.loads(line)["y"] for line in output.read_text(encoding="utf-8").splitlines()])


def run(python: Path | None, *words: str | Path) -> str:
    """Runs the command line in an environment, without what the tests' own one would add to it."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [python or sys.executable, "-m", "beam_ensembles.cli.main", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
