"""The options of ``model: tensorflow``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.graph.options import option
from beam_ensembles.graph.shared_options import LabelOptions
from beam_ensembles.handlers.support.beam_config import CallOptions, DeviceOptions
from beam_ensembles.handlers.support.importing import ImportOptions
from beam_ensembles.handlers.support.model_file import FileOptions
from beam_ensembles.handlers.tensorflow.formats import CREATE, SERVING

HANDLERS: Final = ("numpy", "tensor")


class TensorFlowOptions(CallOptions, DeviceOptions, LabelOptions, ImportOptions, FileOptions):
    """What a TensorFlow model takes."""

    uri: str = option(
        "",
        "The model: a SavedModel's folder, a .keras file, weights (.weights.h5), or a cached https://tfhub.dev/...",
        required=True,
    )
    signature: str | None = option(None, "Which signature of a SavedModel is called.", shown=SERVING)
    create_model_fn: str | None = option(
        None, "A function that makes the Keras model whose weights 'uri' holds."
    )
    model_params: Mapping[str, Any] | None = option(None, f"The arguments of '{CREATE}'.")
    handler: str = option("numpy", "Which of Beam's handlers runs it.", choices=HANDLERS)
