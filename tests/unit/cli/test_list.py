"""``beam-ensembles list``: every kind, what it needs, and the keys it takes."""

from __future__ import annotations

import json

import pytest

from beam_ensembles.cli import list as list_verb
from beam_ensembles.cli.main import main
from beam_ensembles.handlers.tensorrt.model import TensorRTKind
from beam_ensembles.registry import KINDS
from tests.support.interpreter import run_python


def test_json_is_the_whole_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(kind["key"], kind["name"]) for kind in found] == list(KINDS)
    onnx = next(kind for kind in found if kind["name"] == "onnx")
    assert onnx["installed"] is True
    assert onnx["install"] == "pip install 'beam-ensembles[onnx]'"
    assert [option["name"] for option in onnx["options"] if option["required"]] == ["uri"]


def test_people_see_what_is_missing_and_how_to_get_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_verb, "_is_installed", lambda module: module != "xgboost")
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "model: xgboost  (not installed: pip install 'beam-ensembles[xgboost]')" in out
    assert "model: sklearn\n" in out
    assert "one of predict, predict_proba" in out
    assert "  inputs   A list of columns is the graph's only input" in out
    assert "  outputs  The graph's outputs, by name." in out


def test_libraries_that_no_extra_brings_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_verb, "_is_installed", lambda module: True)
    monkeypatch.setattr(TensorRTKind, "missing_libraries", lambda kind: "its libraries are elsewhere")
    assert main(["list"]) == 0
    assert "model: tensorrt  (its libraries are elsewhere)" in capsys.readouterr().out


def test_nothing_is_imported_to_find_out() -> None:
    code = (
        "from beam_ensembles.cli.main import main\n"
        "import contextlib, io\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n    main(['list'])\n"
        "print({'apache_beam', 'joblib', 'onnxruntime', 'pandas', 'sklearn', 'xgboost'} & set(sys.modules))\n"
    )
    assert run_python(code) == "set()"
