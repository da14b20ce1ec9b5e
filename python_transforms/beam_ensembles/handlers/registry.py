"""The kinds of model node: a new one is a folder beside this file and a line here.

The reference, the JSON Schema and ``list`` show the kinds in this order.
Nothing is imported here: a kind's module is imported when a file uses the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MODEL_KINDS: Final[Mapping[str, str]] = {
    "sklearn": "beam_ensembles.handlers.sklearn.model:SklearnKind",
    "onnx": "beam_ensembles.handlers.onnx.model:OnnxKind",
    "xgboost": "beam_ensembles.handlers.xgboost.model:XgboostKind",
    "lightgbm": "beam_ensembles.handlers.lightgbm.model:LightgbmKind",
    "catboost": "beam_ensembles.handlers.catboost.model:CatboostKind",
    "open_inference": "beam_ensembles.handlers.open_inference.model:OpenInferenceKind",
    "chat": "beam_ensembles.handlers.chat.model:ChatKind",
    "decisions": "beam_ensembles.handlers.decisions.model:DecisionsKind",
    "embed": "beam_ensembles.handlers.embed.model:EmbedKind",
    "vertex_ai": "beam_ensembles.handlers.vertex_ai.model:VertexAIKind",
    "huggingface": "beam_ensembles.handlers.huggingface.model:HuggingFaceKind",
    "pytorch": "beam_ensembles.handlers.pytorch.model:PytorchKind",
    "tensorrt": "beam_ensembles.handlers.tensorrt.model:TensorRTKind",
    "tensorflow": "beam_ensembles.handlers.tensorflow.model:TensorflowKind",
    "python": "beam_ensembles.handlers.python.model:PythonKind",
}
"""Where each value of a node's ``model`` key is: ``module:Class``, or ``module:OBJECT``."""
