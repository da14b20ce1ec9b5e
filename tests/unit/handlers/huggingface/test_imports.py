"""Beam's module of Hugging Face's handlers, which asks for TensorFlow and for classes that transformers 5 took away."""

from __future__ import annotations

import pytest

from tests.support.interpreter import run_python


def test_beams_handlers_are_had_without_tensorflow() -> None:
    pytest.importorskip("transformers")
    code = """
import sys
from beam_ensembles.beam_repairs import inference_imports

beam = inference_imports.import_handlers("huggingface_inference")
names = ["HuggingFaceModelHandlerKeyedTensor", "HuggingFaceModelHandlerTensor", "HuggingFacePipelineModelHandler"]
print([hasattr(beam, name) for name in names], "tensorflow" in sys.modules)
"""
    assert run_python(code) == "[True, True, True] False"
