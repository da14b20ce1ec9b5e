"""The options of ``model: pytorch``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beam_ensembles.graph.options import option
from beam_ensembles.graph.shared_options import LabelOptions
from beam_ensembles.handlers.pytorch.files import FORMATS
from beam_ensembles.handlers.support.beam_config import CallOptions, DeviceOptions
from beam_ensembles.handlers.support.importing import ImportOptions
from beam_ensembles.handlers.support.model_file import FileOptions


class PytorchOptions(CallOptions, LabelOptions, DeviceOptions, ImportOptions, FileOptions):
    """What a PyTorch model takes."""

    format: str | None = option(None, "How it was saved.", choices=FORMATS, shown="by what is in the file")
    model_class: str | None = option(
        None,
        "Importable name of the model's class, or of the function that makes the model: for weights.",
    )
    model_params: Mapping[str, Any] | None = option(None, "Arguments of that class.")
    weights_only: bool | None = option(
        None,
        "Read nothing but tensors from a state dict; false may run what is in the file.",
        shown="true",
    )
    dtype: str | None = option(
        None,
        "The type of floats in which the model computes; its weights are converted when it is loaded.",
        choices=("float16", "bfloat16", "float32"),
        shown="that of its weights",
    )
    method: str | None = option(
        None, "The model's method that is called, such as generate.", shown="the model"
    )

    @property
    def reads_weights_only(self) -> bool:
        """Whether nothing but tensors is read from a state dict."""
        return self.weights_only is not False
