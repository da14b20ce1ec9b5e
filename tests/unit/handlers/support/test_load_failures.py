"""Models that need code or versions that a worker lacks: what is said, in every framework whose files hold pickles."""

from __future__ import annotations

import bz2
import gzip
import json
import logging
import pickle
import sys
import types
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
import torch
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from beam_ensembles.cli.main import main
from beam_ensembles.errors import InvalidEnsemble, NodeError
from beam_ensembles.handlers.support.library_versions import Versions
from beam_ensembles.handlers.support.load_failures import BRING_CODE, reason
from beam_ensembles.messages.foreign_errors import described
from tests.support.models import iris, write_graph
from tests.support.nodes import load_node

FOUR = {"x": "array<double>[4]"}
SKLEARN = {"model": "sklearn", "inputs": ["x"], "outputs": {"y": "double"}}
TORCH = {"model": "pytorch", "format": "module", "inputs": ["x"], "outputs": {"y": "array<float>[4]"}}
OWN = {
    "model": "python",
    "handler": "tests.support.pickled_handler.PickledHandler",
    "inputs": ["x"],
    "outputs": {"y": "double"},
}
WAYS: dict[str, tuple[dict[str, Any], Callable[[Any, Path], Any]]] = {
    "joblib": (SKLEARN | {"uri": "model.joblib"}, joblib.dump),
    "pickle": (SKLEARN | {"uri": "model.pkl"}, lambda model, path: path.write_bytes(pickle.dumps(model))),
    "torch": (TORCH | {"uri": "model.pt"}, torch.save),
    "own handler": (OWN | {"uri": "model.pkl"}, lambda model, path: path.write_bytes(pickle.dumps(model))),
}


def saved_of(module: str, way: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Saves a model whose class is in a module that is gone when it is loaded; returns its node."""
    node, save = WAYS[way]
    base = torch.nn.Module if way == "torch" else BaseEstimator
    made = type("Own", (base,), {"__module__": module})
    with monkeypatch.context() as patched:
        if module != "__main__":
            patched.setitem(sys.modules, module, types.ModuleType(module))
        patched.setattr(sys.modules[module], "Own", made, raising=False)
        save(made(), folder / str(node["uri"]))
    return node


def refusal(folder: Path, node: dict[str, Any]) -> str:
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(folder, FOUR, node)
    (problem,) = caught.value.problems
    assert problem.code == "load_failed"
    return problem.message


@pytest.mark.parametrize("way", WAYS)
def test_a_class_of_the_script_that_saved_it_must_move_to_a_module(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = refusal(tmp_path, saved_of("__main__", way, tmp_path, monkeypatch))
    assert "it needs 'Own' of '__main__', the script or notebook that saved it" in said
    assert BRING_CODE in said
    assert "Can't get attribute" not in said


@pytest.mark.parametrize("way", WAYS)
def test_a_module_that_is_not_there_can_be_brought(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = refusal(tmp_path, saved_of("our_own_team", way, tmp_path, monkeypatch))
    assert "it needs the module 'our_own_team', which this worker does not have" in said
    assert BRING_CODE in said


def test_a_module_that_a_library_has_no_more_names_the_librarys_version() -> None:
    error = ModuleNotFoundError("No module named 'sklearn._old'", name="sklearn._old")
    assert reason(error).endswith(f"which sklearn {sklearn.__version__} on this worker does not have")
    error = AttributeError("Can't get attribute 'Gone' on <module 'numpy.random' from 'x.py'>")
    assert reason(error).endswith(f"which numpy {np.__version__} on this worker does not have")
    assert reason(ValueError("else")) == described(ValueError("else"))


def test_a_file_of_numpy_2_on_a_worker_with_numpy_1() -> None:
    versions = Versions()
    versions.find(None, ModuleNotFoundError("No module named 'numpy._core'", name="numpy._core"))
    assert versions.text == f"saved with NumPy 2 or newer, this worker has {np.__version__}"


class Refusing(BaseEstimator):
    """A stand-in for an estimator whose state another version cannot take, as scikit-learn's trees."""

    def __getstate__(self) -> dict[str, Any]:
        return {"_sklearn_version": sklearn.__version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        raise ValueError("node array from the pickle has an incompatible dtype")


def older(data: bytes) -> bytes:
    """Returns a pickle as scikit-learn 1.2.2 would have made it."""
    here = sklearn.__version__.encode()
    assert here in data
    return data.replace(b"\x8c" + bytes([len(here)]) + here, b"\x8c\x051.2.2")


PACKED: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "zlib": zlib.compress, "gzip": gzip.compress}


@pytest.mark.parametrize("pack", PACKED)
def test_a_file_that_cannot_be_loaded_says_its_version_and_the_workers(tmp_path: Path, pack: str) -> None:
    (tmp_path / "m.joblib").write_bytes(PACKED[pack](older(pickle.dumps(Refusing()))))
    said = refusal(tmp_path, SKLEARN | {"uri": "m.joblib"})
    assert "incompatible dtype" in said
    assert said.endswith(f"(saved with scikit-learn 1.2.2, this worker has {sklearn.__version__})")


def test_a_row_that_fails_says_so_too_and_one_warning_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    data = iris()
    model = LogisticRegression(max_iter=500).fit(data.x, data.y)
    del model.coef_  # as where a version looks for an attribute that an older one did not keep
    (tmp_path / "m.pkl").write_bytes(older(pickle.dumps(model)))
    with caplog.at_level(logging.WARNING):
        member = load_node(tmp_path, FOUR, SKLEARN | {"uri": "m.pkl", "trial": False})
    text = f"saved with scikit-learn 1.2.2, this worker has {sklearn.__version__}"
    assert [record.getMessage().count(text) for record in caplog.records] == [1]
    assert not [one for one in recwarn.list if hasattr(one.message, "original_sklearn_version")]
    with pytest.raises(NodeError, match="coef_") as caught:
        member({"x": data.x[:1]})
    assert caught.value.message.endswith(f"({text})")
    assert "Traceback" in caught.value.stack


def test_a_file_of_this_version_is_not_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = iris()
    (tmp_path / "m.pkl").write_bytes(pickle.dumps(LogisticRegression(max_iter=500).fit(data.x, data.y)))
    load_node(tmp_path, FOUR, SKLEARN | {"uri": "m.pkl", "outputs": {"y": "int64"}})
    assert not caplog.records


@pytest.mark.parametrize("name", ["m.json", "m.ubj"])
def test_the_version_in_a_file_of_xgboost(tmp_path: Path, name: str) -> None:
    import xgboost

    path = tmp_path / name
    xgboost.train({}, xgboost.DMatrix(np.eye(3), label=np.arange(3)), 1).save_model(path)
    versions = Versions()
    versions.find(str(path), ValueError())
    assert not versions.text
    data = path.read_bytes()
    major = int(xgboost.__version__.partition(".")[0])
    old, new = (
        (f'"version":[{major},'.encode(), b'"version":[9,'),
        (b"version[#L\0\0\0\0\0\0\0\3i" + bytes([major]), b"version[#L\0\0\0\0\0\0\0\3i\x09"),
    )[name == "m.ubj"]
    assert old in data
    path.write_bytes(data.replace(old, new))
    versions.find(str(path), ValueError())
    assert versions.text.startswith("saved with XGBoost 9.")
    assert versions.text.endswith(f"this worker has {xgboost.__version__}")


def test_a_locale_that_is_not_there_is_named_with_how_to_install_it(
    tmp_path: Path,
) -> None:
    texts = ("text", "STRING", ["N"])
    attributes = {"case_change_action": "LOWER", "locale": "xx_YY.UTF-8"}
    write_graph(
        tmp_path / "t.onnx",
        [("StringNormalizer", ["text"], ["lower"], attributes)],
        [texts],
        [("lower", "STRING", ["N"])],
    )
    node = {
        "model": "onnx",
        "uri": "t.onnx",
        "inputs": ["x"],
        "outputs": {"y": {"type": "string", "from": "lower"}},
    }
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(tmp_path, {"x": "string"}, node)
    (problem,) = caught.value.problems
    assert "needs the locale 'xx_YY.UTF-8'" in problem.message
    assert "localedef -i xx_YY -f UTF-8 xx_YY.UTF-8" in problem.message
    assert "onnxruntime_src" not in problem.message


@pytest.mark.usefixtures("forked_children")
@pytest.mark.parametrize("isolate", ["", ", isolate: process"])
def test_whatever_a_handler_raises_is_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], isolate: str
) -> None:
    (tmp_path / "e.yaml").write_text(
        "ensemble: e\ninputs: {x: double}\nnodes:\n  y: {model: python, "
        f"handler: tests.support.pickled_handler.MoodyHandler, inputs: [x], outputs: {{y: double}}{isolate}}}\n"
    )
    (tmp_path / "rows.jsonl").write_text('{"x": 1}\n')
    call = ["run", str(tmp_path / "e.yaml"), "--input", str(tmp_path / "rows.jsonl")]
    assert main([*call, "--output", str(tmp_path / "out.jsonl")]) == 1
    said = capsys.readouterr().err
    assert "RuntimeError: no more" in said
    assert "Traceback" not in said
    assert "[bt]" not in said


def pickled(path: Path, protocol: int) -> None:
    data = pickle.dumps({"_sklearn_version": "1.2.2"}, protocol=protocol)
    path.write_bytes(data)


def archive(path: Path, name: str, text: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, text)


def saved_model(path: Path) -> None:
    path.mkdir()
    (path / "saved_model.pb").write_bytes(b"serve*\x062.99.02\x1av2.99.0-rc1-5-gabc")


STATED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "protocol 2": ("sklearn", lambda path: pickled(path, 2), "scikit-learn 1.2.2"),
    "protocol 4": ("sklearn", lambda path: pickled(path, 4), "scikit-learn 1.2.2"),
    "bz2": (
        "sklearn",
        lambda path: path.write_bytes(bz2.compress(pickle.dumps({"_sklearn_version": "1.2.2"}))),
        "scikit-learn 1.2.2",
    ),
    "skops": (
        "sklearn",
        lambda path: archive(path, "schema.json", json.dumps({"_sklearn_version": {"content": '"1.2.2"'}})),
        "scikit-learn 1.2.2",
    ),
    "keras": (
        "keras",
        lambda path: archive(path, "metadata.json", json.dumps({"keras_version": "3.99.1"})),
        "Keras 3.99.1",
    ),
    "SavedModel": ("tensorflow", saved_model, "TensorFlow 2.99.0"),
}


@pytest.mark.parametrize("form", STATED)
def test_the_version_that_a_file_states(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, save, said = STATED[form]
    library = types.ModuleType(module)
    library.__version__ = "9.9"  # type: ignore[attr-defined]
    for one in ("sklearn", "keras", "tensorflow", "xgboost"):
        monkeypatch.delitem(sys.modules, one, raising=False)
    monkeypatch.setitem(sys.modules, module, library)
    save(tmp_path / "model")
    versions = Versions()
    versions.find(str(tmp_path / "model"), ValueError())
    assert versions.text == f"saved with {said}, this worker has 9.9"


@pytest.mark.parametrize(
    ("saved", "says"),
    [
        (lambda weights: {f"module.{name}": one for name, one in weights.items()}, "begin with 'module.'"),
        (
            lambda weights: {f"_orig_mod.{name}": one for name, one in weights.items()},
            "begin with '_orig_mod.'",
        ),
        (
            lambda weights: {"epoch": 3, "model_state_dict": weights},
            "a checkpoint, which holds epoch, model_state_dict, and no state dict of Linear; save its weights alone: "
            "torch.save(torch.load(PATH)['model_state_dict'], 'model.pt')",
        ),
    ],
)
def test_weights_of_other_names_say_which_and_what_to_do(
    saved: Callable[[Any], Any], says: str, tmp_path: Path
) -> None:
    torch.save(saved(torch.nn.Linear(4, 2).state_dict()), tmp_path / "m.pt")
    node = {
        "model": "pytorch",
        "uri": "m.pt",
        "model_class": "torch.nn.Linear",
        "model_params": {"in_features": 4, "out_features": 2},
        "inputs": ["x"],
        "outputs": {"y": "array<float>[2]"},
    }
    with pytest.raises(InvalidEnsemble) as caught:
        load_node(tmp_path, {"x": "array<float>[4]"}, node)
    (problem,) = caught.value.problems
    assert problem.code == "load_failed"
    assert says in problem.message
    assert "Error(s)" not in problem.message
