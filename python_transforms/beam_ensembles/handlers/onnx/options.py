"""The options of ``model: onnx``."""

from __future__ import annotations

from beam_ensembles.graph.shared_options import LabelOptions, NullOptions
from beam_ensembles.handlers.support.beam_config import CallOptions, DeviceOptions
from beam_ensembles.handlers.support.model_file import FileOptions


class OnnxOptions(CallOptions, NullOptions, LabelOptions, DeviceOptions, FileOptions):
    """What an ONNX graph takes."""
