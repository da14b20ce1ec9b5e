"""Loading a model through Beam's handler: what is said where the framework is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.registry import KINDS
from tests.support.interpreter import run_python
from tests.support.nodes import check_node

PAIR = {"x": "array<float>[2]"}
DOUBLE = {"model": "onnx", "uri": "double.onnx", "inputs": ["x"], "outputs": {"y": None}}


def test_a_missing_framework_is_named_with_what_installs_it(
    onnx_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inference_imports.import_base()
    checked = check_node(onnx_models, PAIR, DOUBLE)
    monkeypatch.delitem(sys.modules, "apache_beam.ml.inference.onnx_inference", raising=False)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(
        EnsembleError,
        match=r"\[not_installed\] nodes\.node\.model: this worker lacks onnx.*pip install 'beam-ensembles\[onnx\]'",
    ):
        KINDS[("model", "onnx")].load(checked)


def test_a_framework_that_cannot_be_imported_is_one_sentence(
    onnx_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(module: str) -> None:
        raise OSError("libcudart.so.12: cannot open shared object file")

    checked = check_node(onnx_models, PAIR, DOUBLE)
    monkeypatch.setattr(inference_imports, "import_handlers", broken)
    said = (
        r"\[load_failed\] nodes\.node\.model: importing onnx raises OSError: libcudart\.so\.12: cannot open"
    )
    with pytest.raises(InvalidEnsemble, match=said):
        KINDS[("model", "onnx")].load(checked)


def test_checking_imports_no_framework(onnx_models: Path) -> None:
    code = f"""
from beam_ensembles.graph import check_text
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.registry import KINDS

text = '''
ensemble: test
inputs: {{x: "array<float>[2]"}}
nodes:
  node: {{model: onnx, uri: double.onnx, inputs: [x], outputs: {{y: {{}}}}}}
'''
graph = check_text(text, KINDS, Files({str(onnx_models)!r}, is_own=True))
frameworks = {{"apache_beam", "joblib", "onnx", "onnxruntime", "pandas", "sklearn", "xgboost"}}
print(graph.outputs[0][1], sorted(frameworks & set(sys.modules)))
"""
    assert run_python(code) == "array<float>[2] []"
