"""The kinds of model node. A new one is a file beside this one and a line here."""

from __future__ import annotations

from typing import Final

from beam_ensembles.graph.kinds import kind_table
from beam_ensembles.handlers.huggingface.kind import HuggingFaceKind
from beam_ensembles.handlers.onnx_model import OnnxKind
from beam_ensembles.handlers.open_inference.kind import OpenInferenceKind
from beam_ensembles.handlers.python_handler import PythonKind
from beam_ensembles.handlers.pytorch_model import PytorchKind
from beam_ensembles.handlers.sklearn_model import SklearnKind
from beam_ensembles.handlers.tensorflow_model import TensorflowKind
from beam_ensembles.handlers.tensorrt_model import TensorRTKind
from beam_ensembles.handlers.vertex_ai import VertexAIKind
from beam_ensembles.handlers.xgboost_model import XgboostKind

MODEL_KINDS: Final = kind_table(
    [
        SklearnKind(),
        OnnxKind(),
        XgboostKind(),
        OpenInferenceKind(),
        VertexAIKind(),
        HuggingFaceKind(),
        PytorchKind(),
        TensorRTKind(),
        TensorflowKind(),
        PythonKind(),
    ]
)
"""Each value of a node's ``model`` key."""
