"""What a step of the acceptance run is given, and how it says that it failed or cannot run here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

Figures = Mapping[str, Any]
"""What a step measured, by name: numbers and texts."""


class StepFailed(Exception):
    """The machine or the project does not do what the step demands."""


class NotHere(Exception):
    """The step needs what this machine does not have."""


@dataclasses.dataclass(frozen=True, slots=True)
class Sizes:
    """How large the models and the batches of a run are.

    Attributes:
        texts: How many texts are classified.
        words: The most words of a text.
        pictures: How many pictures are described.
        side: Height and width of a picture, in pixels.
        batch: How many rows go through a model at once.
        text_model: What the text model's configuration has other than BERT-base's.
        tower: What each tower of BLIP and CLIP has other than by default.
        written: Tokens that BLIP writes about a picture.
        copied: Bytes of the batch whose copies to the device are timed.
        clients: Processes that share one model.
    """

    texts: int
    words: int
    pictures: int
    side: int
    batch: int
    text_model: Mapping[str, Any]
    tower: Mapping[str, Any]
    written: int
    copied: int
    clients: int


_SMALL: Final = {
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
    "initializer_range": 0.5,
}  # fmt: skip
FULL: Final = Sizes(4_096, 250, 256, 384, 64, {}, {}, 20, 38 << 20, 4)
TINY: Final = Sizes(48, 20, 6, 32, 4, _SMALL, _SMALL, 3, 1 << 20, 2)


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """What a step is given.

    Attributes:
        device: ``gpu`` or ``cpu``.
        sizes: How large all is.
        folder: A folder of its own.
    """

    device: str
    sizes: Sizes
    folder: Path

    @property
    def has_gpu(self) -> bool:
        """Whether the run is about a GPU; rates are compared with their bounds only there."""
        return self.device == "gpu"

    def synchronize(self) -> None:
        """Waits until the device has done all that it was given."""
        if self.has_gpu:
            import torch

            torch.cuda.synchronize()


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One step of the run.

    Attributes:
        name: Its name.
        seconds: After how long it is ended.
        run: Does it, and returns what it measured.
    """

    name: str
    seconds: float
    run: Callable[[Setting], Figures]


def demand(is_met: bool, text: str) -> None:
    """Ensures that something holds.

    Raises:
        StepFailed: With ``text``: it does not.
    """
    if not is_met:
        raise StepFailed(text)
