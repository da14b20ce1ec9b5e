"""Refuses a model of which weights were not in its files: transformers fills them in at random, and only warns."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import importlib.util
import os
import re
from collections.abc import Collection, Iterator
from typing import Any, Final

from beam_ensembles.errors import (
    ModelFormatError,
    listed,
)

_UNUSED: Final = re.compile(r"(^|\.)masked_spec_embed$")
"""Weights that are used in training alone; popular models of speech come without them."""
_POOLER: Final = re.compile(r"(^|\.)pooler\.")
"""What makes one vector of a text's; models that were trained for something else come without it."""
_NUMBER: Final = re.compile(r"(?<=\.)\d+(?=\.)")
_SHOWN: Final = 5
_ADAPTER: Final = "adapter_config.json"

_noted: contextvars.ContextVar[NotedWeights | None] = contextvars.ContextVar("noted", default=None)


class NotedWeights:
    """What ``from_pretrained`` said of each model that it loaded."""

    def __init__(self) -> None:
        self.models: list[dict[str, Any]] = []

    def check(self, *, pooled: bool) -> None:
        """Checks the weights of the model that was loaded last: a pipeline tries one class after the other.

        Args:
            pooled: Whether what the pooler gives is used.

        Raises:
            ModelFormatError: Weights of the model are not in its files, or layers of its files are not in the model.
        """
        if self.models:
            _check(**self.models[-1], pooled=pooled)


@contextlib.contextmanager
def noted_weights(transformers: Any) -> Iterator[NotedWeights]:
    """Notes which weights the models have that are loaded within the block, in this thread.

    Args:
        transformers: The library.
    """
    _note_what_is_loaded(transformers.PreTrainedModel)
    noted = NotedWeights()
    token = _noted.set(noted)
    try:
        yield noted
    finally:
        _noted.reset(token)


def check_adapter(place: str) -> None:
    """Checks that the adapter of a folder would be used, which transformers leaves out where PEFT is not installed.

    Raises:
        ModelFormatError: It would not.
    """
    if os.path.exists(os.path.join(place, _ADAPTER)) and importlib.util.find_spec("peft") is None:
        text = "which needs PEFT, and this worker has none; merge it into the model (merge_and_unload), or install peft"
        raise ModelFormatError(f"'{place}' has an adapter ({_ADAPTER}), {text}")


@functools.cache
def _note_what_is_loaded(base: Any) -> None:
    """Have ``from_pretrained`` tell what it found; pipelines and Beam's handlers have no way to ask it."""
    original = base.from_pretrained.__func__

    @functools.wraps(original)
    def from_pretrained(cls: Any, *args: Any, **kwargs: Any) -> Any:
        noted = _noted.get()
        if noted is None or "output_loading_info" in kwargs:
            return original(cls, *args, **kwargs)
        token = _noted.set(None)  # a model may load another one, whose weights it then replaces by its own
        try:
            model, found = original(cls, *args, output_loading_info=True, **kwargs)
        finally:
            _noted.reset(token)
        noted.models.append({
            "name": type(model).__name__,
            "own": list(model.state_dict()),
            "missing": found["missing_keys"],
            "unexpected": found["unexpected_keys"],
        })  # fmt: skip
        return model

    base.from_pretrained = classmethod(from_pretrained)


def _check(
    *, name: str, own: Collection[str], missing: Collection[str], unexpected: Collection[str], pooled: bool
) -> None:
    lacking = [
        key for key in sorted(missing) if not _UNUSED.search(key) and (pooled or not _POOLER.search(key))
    ]
    if lacking:
        text = (
            f"its files lack weights of {name}: {_some(lacking)}; transformers would fill them in at random. Name "
            "the task or class that the model was trained for, or save the trained model again"
        )
        raise ModelFormatError(text)
    layers = {_NUMBER.sub("*", key) for key in own}
    dropped = [key for key in sorted(unexpected) if _NUMBER.search(key) and _NUMBER.sub("*", key) in layers]
    if dropped:
        text = (
            f"its files have weights of layers that its config.json leaves out: {_some(dropped)}; config.json is "
            "that of another model"
        )
        raise ModelFormatError(text)


def _some(keys: list[str]) -> str:
    more = len(keys) - _SHOWN
    return listed(keys[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
