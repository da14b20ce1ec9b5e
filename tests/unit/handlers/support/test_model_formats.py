"""A model file given to the wrong kind of node: the right kind, or what to do, is named."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
import torch
import xgboost
from safetensors.torch import save_file
from sklearn.linear_model import LinearRegression

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.handlers.support.model_formats import other_kind, recognized
from beam_ensembles.registry import KINDS as ALL_KINDS
from tests.support.models import write_graph
from tests.support.nodes import check_node

SMALL = LinearRegression().fit(np.eye(2), [0.0, 1.0])


def save_xgboost(path: Path) -> None:
    xgboost.train({}, xgboost.DMatrix(np.eye(2), label=[0, 1]), 1).save_model(path)


def save_onnx(path: Path) -> None:
    pair = ("X", "FLOAT", ["N", 2])
    write_graph(path, [("Add", ["X", "X"], ["Y"], {})], [pair], [("Y", "FLOAT", ["N", 2])])


def save_script(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/data.pkl", b"")
        archive.writestr("net/constants.pkl", b"")


def save_keras(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.0.0"}')
        archive.writestr("config.json", "{}")


def save_folder(name: str) -> Callable[[Path], None]:
    def save(path: Path) -> None:
        path.mkdir()
        (path / name).write_bytes(b"{}")

    return save


def bytes_of(data: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(data) and None


FILES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "lightgbm.txt": (
        bytes_of(b"tree\nversion=v4\nnum_class=3\n"),
        "lightgbm",
        "a LightGBM model: use 'model: lightgbm'",
    ),
    "dumped.json": (bytes_of(b'{"name": "tree", "version": "v4"}'), "", "save_model('model.txt')"),
    "model.cbm": (bytes_of(b"CBM1\xb03\0\0"), "catboost", "a CatBoost model: use 'model: catboost'"),
    "catboost.json": (
        bytes_of(b'{\n"ctr_data":\n {}}'),
        "catboost",
        "a CatBoost model: use 'model: catboost'",
    ),
    "xgboost.json": (save_xgboost, "xgboost", "an XGBoost model: use 'model: xgboost'"),
    "xgboost.ubj": (save_xgboost, "xgboost", "an XGBoost model: use 'model: xgboost'"),
    "old.bin": (bytes_of(b"binf\0\0"), "", "save_model('model.json')"),
    "model.onnx": (save_onnx, "onnx", "an ONNX model: use 'model: onnx'"),
    "model.pt": (lambda path: torch.save(torch.nn.Linear(1, 1), path), "pytorch", "use 'model: pytorch'"),
    "script.pt": (save_script, "pytorch", "use 'model: pytorch'"),
    "old.pth": (
        lambda path: torch.save({}, path, _use_new_zipfile_serialization=False),
        "pytorch",
        "use 'model: pytorch'",
    ),
    "model.safetensors": (
        lambda path: save_file({"a": torch.ones(1)}, path),
        "pytorch",
        "'model: pytorch' with 'model_class'",
    ),
    "model.keras": (save_keras, "tensorflow", "use 'model: tensorflow'"),
    "model.h5": (bytes_of(b"\x89HDF\r\n\x1a\n\0\0"), "tensorflow", "use 'model: tensorflow'"),
    "saved": (save_folder("saved_model.pb"), "tensorflow", "use 'model: tensorflow'"),
    "hub": (save_folder("config.json"), "huggingface", "use 'model: huggingface'"),
    "model.skops": (
        lambda path: skops.io.dump(SMALL, path),
        "sklearn",
        "'model: sklearn' and 'format: skops'",
    ),
    "model.pkl": (lambda path: path.write_bytes(pickle.dumps(SMALL)) and None, "sklearn", "'format: pickle'"),
    "pointer": (bytes_of(b"version https://git-lfs.github.com/spec/v1\noid"), "", "git lfs pull"),
    "page": (bytes_of(b"<!DOCTYPE html><html>"), "", "a web page: download the model itself"),
    "lite.tflite": (bytes_of(b"\x1c\0\0\0TFL3"), "", "a TensorFlow Lite model"),
}
KINDS: dict[str, dict[str, Any]] = {
    "sklearn": {"format": "joblib", "outputs": {"y": "float"}},
    "xgboost": {"outputs": {"y": "float"}},
    "lightgbm": {"outputs": {"y": "float"}},
    "catboost": {"outputs": {"y": "float"}},
    "onnx": {"outputs": {"y": "array<float>[2]"}},
    "pytorch": {"outputs": {"y": "array<float>[2]"}},
    "tensorflow": {"outputs": {"y": "array<float>[2]"}},
}


@pytest.mark.parametrize("name", FILES)
def test_each_format_is_recognized(name: str, tmp_path: Path) -> None:
    save, kind, said = FILES[name]
    save(tmp_path / name)
    found = recognized(str(tmp_path / name))
    assert found is not None
    assert found.kind == kind
    assert said in other_kind("another", str(tmp_path / name))
    assert not kind or not other_kind(kind, str(tmp_path / name))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["lightgbm.txt", "model.cbm", "xgboost.json", "model.onnx", "model.pt", "pointer"]
)
def test_every_kind_names_the_right_one_at_validate(kind: str, name: str, tmp_path: Path) -> None:
    save, right, said = FILES[name]
    if kind == right:
        return
    save(tmp_path / name)
    node = {"model": kind, "uri": name, "inputs": ["x"]} | KINDS[kind]
    with pytest.raises(InvalidEnsemble) as caught:
        check_node(tmp_path, {"x": "array<float>[2]"}, node)
    (problem,) = [one for one in caught.value.problems if one.code == "bad_model_file"]
    assert "; it looks like" in problem.message
    assert said in problem.message


def test_a_text_of_lightgbm_is_not_told_to_say_joblib(tmp_path: Path) -> None:
    (tmp_path / "m.txt").write_bytes(b"tree\nversion=v4\n")
    node = {"model": "sklearn", "uri": "m.txt", "inputs": ["x"], "outputs": {"y": "float"}}
    with pytest.raises(InvalidEnsemble) as caught:
        check_node(tmp_path, {"x": "array<float>[2]"}, node)
    (problem,) = caught.value.problems
    assert "it looks like a LightGBM model" in problem.message
    assert "say joblib" not in problem.message


@pytest.mark.parametrize("data", [b"", b"{}", b"hello", json.dumps([1]).encode(), b"PK\x03\x04broken"])
def test_what_is_not_known_has_no_hint(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(data)
    assert other_kind("sklearn", str(tmp_path / "x")) == ""
    assert other_kind("sklearn", str(tmp_path / "missing")) == ""
    assert other_kind("sklearn", None) == ""


def test_a_file_that_is_far_away_when_it_is_checked_has_the_hint_when_it_is_loaded(tmp_path: Path) -> None:
    node = {"model": "sklearn", "format": "pickle", "inputs": ["x"], "outputs": {"y": "float"}}
    checked = {"uri": "model.pkl"}
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(SMALL))

    loaded = check_node(tmp_path, {"x": "array<float>[2]"}, node | checked)
    save_xgboost(tmp_path / "model.json")
    (tmp_path / "model.json").replace(tmp_path / "model.pkl")
    with pytest.raises(InvalidEnsemble, match="it looks like an XGBoost model: use 'model: xgboost'"):
        ALL_KINDS["model", "sklearn"].load(loaded)
