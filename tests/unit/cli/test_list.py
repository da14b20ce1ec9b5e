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


def test_a_name_shows_its_kinds_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "sklearn", "python"]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if line and not line.startswith(" ")]
    assert heads == ["model: sklearn", "model: python", "apply: python"]


def test_a_name_that_no_kind_has_is_told_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "soft_vot"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "beam-ensembles list: there is no kind 'soft_vot'; did you mean 'soft_vote'?\n"


def test_short_is_one_line_per_kind(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_verb, "_is_installed", lambda module: module != "xgboost")
    assert main(["list", "--short"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list(KINDS))
    assert next(line for line in lines if line.startswith("model: xgboost")) == (
        "model: xgboost         not installed: pip install 'beam-ensembles[xgboost]'"
    )
    assert next(line for line in lines if line.startswith("combine: soft_vote")) == (
        "combine: soft_vote     The class with the greatest average probability over its members."
    )
