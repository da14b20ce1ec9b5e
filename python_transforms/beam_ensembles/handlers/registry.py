"""The kinds of model node. A new one is a folder beside this file and a line here."""

from __future__ import annotations

from typing import Final

from beam_ensembles.graph.kinds import kind_table
from beam_ensembles.handlers.catboost.model import CatboostKind
from beam_ensembles.handlers.huggingface.kind import HuggingFaceKind
from beam_ensembles.handlers.lightgbm.model import LightgbmKind
from beam_ensembles.handlers.onnx.model import OnnxKind
from beam_ensembles.handlers.open_inference.kind import OpenInferenceKind
from beam_ensembles.handlers.python.handler import PythonKind
from beam_ensembles.handlers.pytorch.model import PytorchKind
from beam_ensembles.handlers.sklearn.model import SklearnKind
from beam_ensembles.handlers.tensorflow.model import TensorflowKind
from beam_ensembles.handlers.tensorrt.model import TensorRTKind
from beam_ensembles.handlers.vertex_ai.kind import VertexAIKind
from beam_ensembles.handlers.xgboost.model import XgboostKind

MODEL_KINDS: Final = kind_table(
    [
        SklearnKind(),
        OnnxKind(),
        XgboostKind(),
        LightgbmKind(),
        CatboostKind(),
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
