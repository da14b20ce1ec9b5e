"""The options of ``model: python``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.shared_options import LabelOptions, NullOptions
from beam_ensembles.handlers.support.beam_config import CallOptions
from beam_ensembles.handlers.support.model_file import FileOptions


class _HandlerOptions(Options):
    handler: str | None = option(
        None,
        "Dotted name of the handler's class, or of a function that makes it.",
        required=True,
    )


class PythonOptions(CallOptions, NullOptions, LabelOptions, FileOptions, _HandlerOptions):
    """What a handler takes."""

    uri: str = option("", "The model's file or folder; the handler gets its path by update_model_path.")
    functions: Mapping[str, Any] = option(
        {}, "Arguments of the handler's constructor that are functions, by dotted name."
    )
    preprocess: list[Any] = option(
        [], "Dotted names of functions that each example goes through first, in order."
    )
    postprocess: list[Any] = option(
        [], "Dotted names of functions that each prediction goes through, in order."
    )
