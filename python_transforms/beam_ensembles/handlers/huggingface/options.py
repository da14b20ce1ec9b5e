"""The options of ``model: huggingface``."""

from __future__ import annotations

from typing import Final

from beam_ensembles.graph.options import option
from beam_ensembles.graph.shared_options import LabelOptions
from beam_ensembles.handlers.huggingface.hub import HubOptions
from beam_ensembles.handlers.huggingface.tasks import TASKS
from beam_ensembles.handlers.support.beam_config import CallOptions, DeviceOptions

METHODS: Final = ("forward", "generate", "get_audio_features", "get_image_features", "get_text_features")


class HuggingFaceOptions(CallOptions, DeviceOptions, LabelOptions, HubOptions):
    """What a model of transformers takes."""

    task: str | None = option(
        None, "The model's task, from which inputs and outputs follow.", choices=tuple(TASKS)
    )
    model_class: str | None = option(
        None,
        "A class of transformers, such as transformers.CLIPModel, for a node that reads and returns tensors.",
    )
    method: str | None = option(
        None, "The method of a model_class to call.", choices=METHODS, shown="forward"
    )
    seed: int | None = option(
        None,
        "What do_sample draws for a row follows from it and the row's inputs: the same in every batch, run and "
        "language.",
    )
