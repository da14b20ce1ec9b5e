"""Each extra alone is enough for the nodes that need it: they score the same rows as with all of them."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.cli.main import main
from scripts.layout import PYTHON, ROOT
from tests.support import vertex_ai_server
from tests.support.chat_server import Reply, chat_server
from tests.support.extras import extra_environment
from tests.support.media import noise, pixels, png, wav
from tests.support.models import iris, make_sklearn, make_xgboost
from tests.support.open_inference import Model, served

FLOWERS = iris().x[::10]
TEXTS = ("a good film", "the film was awful", "this is about sport")
COMMAND = "beam_ensembles.cli.main"
X_TO_Y = {"inputs": ["x"], "outputs": {"y": "array<float>[3]"}}


def sklearn_node(folder: Path) -> dict[str, Any]:
    make_sklearn(folder)
    return {"model": "sklearn", "uri": "logistic.joblib", "method": "predict_proba"} | X_TO_Y


def onnx_node(folder: Path) -> dict[str, Any]:
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression

    model = LinearRegression().fit(iris().x, np.eye(3)[iris().y])
    graph = to_onnx(model, iris().x[:1].astype(np.float32))
    (folder / "linear.onnx").write_bytes(graph.SerializeToString())
    return {"model": "onnx", "uri": "linear.onnx"} | X_TO_Y


def xgboost_node(folder: Path) -> dict[str, Any]:
    make_xgboost(folder)
    return {"model": "xgboost", "uri": "iris.json"} | X_TO_Y


def lightgbm_node(folder: Path) -> dict[str, Any]:
    import lightgbm

    params = {"objective": "multiclass", "num_class": 3, "verbose": -1}
    booster = lightgbm.train(params, lightgbm.Dataset(iris().x, iris().y), 2)
    booster.save_model(folder / "iris.txt")
    return {"model": "lightgbm", "uri": "iris.txt"} | X_TO_Y


def catboost_node(folder: Path) -> dict[str, Any]:
    import catboost

    small = {"iterations": 2, "verbose": 0, "allow_writing_files": False}
    catboost.CatBoostClassifier(**small).fit(iris().x, iris().y).save_model(str(folder / "iris.cbm"))
    return {"model": "catboost", "uri": "iris.cbm", "method": "predict_proba"} | X_TO_Y


def pytorch_node(folder: Path) -> dict[str, Any]:
    import torch

    torch.manual_seed(1)
    torch.save(torch.nn.Linear(4, 3).state_dict(), folder / "linear.pt")
    params = {"in_features": 4, "out_features": 3}
    model = {"model_class": "torch.nn.Linear", "model_params": params}
    return {"model": "pytorch", "uri": "linear.pt"} | model | X_TO_Y


def tensorflow_node(folder: Path) -> dict[str, Any]:
    from tests.support.tensorflow_models import iris_network

    iris_network().save(folder / "iris.keras")
    return {"model": "tensorflow", "uri": "iris.keras"} | X_TO_Y


def huggingface_node(folder: Path) -> dict[str, Any]:
    from tests.support.transformers_models import MAKERS

    MAKERS["classifier"](folder / "mood")
    task = {"model": "huggingface", "uri": "mood", "task": "text-classification", "inputs": ["text"]}
    return task | {"outputs": {"label": {}, "y": {"from": "score"}}}


def vertex_ai_node(_: Path) -> dict[str, Any]:
    place = {"endpoint": "1", "project": "flowers", "location": vertex_ai_server.LOCATION}
    return {"model": "vertex_ai", "inputs": ["x"], "outputs": {"y": "double"}} | place


def image_node(_: Path) -> dict[str, Any]:
    outputs = {"y": "array<float>[2,2,3]"}
    return {"apply": "image", "size": [2, 2], "dtype": "float", "inputs": ["picture"], "outputs": outputs}


def audio_node(_: Path) -> dict[str, Any]:
    return {"apply": "audio", "rate": 8_000, "inputs": ["sound"], "outputs": {"y": "array<float>"}}


def keywords_node(_: Path) -> dict[str, Any]:
    return {"apply": "keywords", "k": 2, "inputs": ["text"], "outputs": {"y": {"from": "keywords"}}}


def lookup_node(folder: Path) -> dict[str, Any]:
    with contextlib.closing(sqlite3.connect(folder / "films.db")) as database, database:
        database.execute("create table films (text varchar primary key, y double)")
        database.executemany("insert into films values (?, ?)", [(text, len(text) / 2) for text in TEXTS])
    table = {"apply": "lookup", "url": f"sqlite:///{folder / 'films.db'}", "table": "films", "key": "text"}
    return table | {"outputs": {"y": "double"}}


@pytest.fixture
def open_inference_node() -> Iterator[Callable[[Path], dict[str, Any]]]:
    """A node whose model is served while the test runs."""
    double = Model(lambda given: {"y": given["x"] * 2}, [("x", "FP64", [-1, 4])], [("y", "FP64", [-1, 4])])
    with served({"double": double}) as server:
        node = {"model": "open_inference", "uri": server.uri("double"), "inputs": ["x"]}
        yield lambda _: node | {"outputs": {"y": "array<double>[4]"}}


MAKERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "sklearn": sklearn_node,
    "onnx": onnx_node,
    "xgboost": xgboost_node,
    "lightgbm": lightgbm_node,
    "catboost": catboost_node,
    "pytorch": pytorch_node,
    "tensorflow": tensorflow_node,
    "huggingface": huggingface_node,
    "image": image_node,
    "audio": audio_node,
    "keywords": keywords_node,
    "lookup": lookup_node,
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("extra", MAKERS)
def test_an_extra_is_enough(extra: str, tmp_path: Path) -> None:
    check_alone(extra, MAKERS[extra](tmp_path), tmp_path)


@pytest.mark.timeout(600)
def test_an_extra_is_enough_for_a_server(
    open_inference_node: Callable[[Path], dict[str, Any]], tmp_path: Path
) -> None:
    check_alone("open_inference", open_inference_node(tmp_path), tmp_path)


@pytest.mark.timeout(600)
def test_an_extra_is_enough_for_a_language_model(tmp_path: Path) -> None:
    with chat_server(lambda _: Reply('{"y": 1.5}')) as server:
        messages = [{"role": "user", "content": "{x}"}]
        node = {"model": "chat", "url": server.url, "name": "small", "messages": messages, "inputs": ["x"]}
        check_alone("openai", node | {"outputs": {"y": "double"}}, tmp_path)


@pytest.mark.timeout(600)
def test_an_extra_is_enough_for_an_endpoint(tmp_path: Path) -> None:
    model = {"1": lambda rows: [sum(row) for row in rows]}
    with vertex_ai_server.served(tmp_path, model) as variables:
        check_alone("vertex_ai", vertex_ai_node(tmp_path), tmp_path, variables)


@pytest.mark.timeout(600)
def test_what_is_not_installed_is_named_with_its_extra(tmp_path: Path) -> None:
    python = extra_environment("onnx")
    listed = run(python, COMMAND, "list", "--json")
    found = {kind["name"]: kind for kind in json.loads(listed)}
    assert found["onnx"]["installed"]
    assert not found["tensorflow"]["installed"]
    assert found["tensorflow"]["install"] == "pip install 'beam-ensembles[tensorflow]'"


@pytest.mark.timeout(600)
def test_the_extra_of_tensorrt_is_all_but_its_libraries() -> None:
    python = extra_environment("tensorrt")
    found = {kind["name"]: kind for kind in json.loads(run(python, COMMAND, "list", "--json"))}["tensorrt"]
    assert found["installed"]
    lacking = found["missing_libraries"]
    assert lacking is None or "tensorrt-cu13-libs==" in lacking


def check_alone(
    extra: str, node: dict[str, Any], folder: Path, variables: Mapping[str, str] | None = None
) -> None:
    """Scores the same rows with a node in an environment of its extra alone, and in this one with all of them."""
    python = extra_environment(extra)
    inputs = {"x": "array<double>[4]", "text": "string", "picture": "bytes", "sound": "bytes"}
    spec = {"ensemble": "alone", "inputs": inputs, "nodes": {"node": node}}
    (folder / "alone.json").write_text(json.dumps(spec), encoding="utf-8")
    files = {"picture": png(pixels(1, 6, 4)), "sound": wav(noise(1, 160))}
    encoded = {name: base64.b64encode(file).decode() for name, file in files.items()}
    rows = [{"x": row.tolist(), "text": TEXTS[at % len(TEXTS)], **encoded} for at, row in enumerate(FLOWERS)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "rows.jsonl").write_text(lines, encoding="utf-8")
    words = ["run", str(folder / "alone.json"), "--input", str(folder / "rows.jsonl"), "--output"]
    run(python, COMMAND, *words, str(folder / "alone.jsonl"), variables=variables)
    if variables is None:
        assert main([*words, str(folder / "all.jsonl")]) == 0
    else:
        run(PYTHON, COMMAND, *words, str(folder / "all.jsonl"), variables=variables)
    alone, with_all = (read(folder / f"{name}.jsonl") for name in ("alone", "all"))
    assert len(alone) == len(rows)
    assert alone == with_all
    assert {type(row["y"]) for row in alone} <= {float, list}


def read(file: Path) -> list[dict[str, Any]]:
    """Reads scored rows."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def run(python: Path, *words: str, variables: Mapping[str, str] | None = None) -> str:
    """Runs a module in an environment, without what the tests' own one would add to it, but with variables."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env |= variables or {}
    command = [python, "-m", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout
