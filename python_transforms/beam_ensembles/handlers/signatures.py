"""What a model takes and gives, as far as it says so itself: the same words for every framework."""

from __future__ import annotations

import dataclasses
from typing import Final

TENSORS: Final = "tensors"
"""``Port.items`` of a sequence of tensors."""


class ModelFormatError(ValueError):
    """The file is not a model of the expected format."""


@dataclasses.dataclass(frozen=True, slots=True)
class Port:
    """An input or an output of a model.

    Attributes:
        name: Its name.
        element: The type of its values, or None where it is no tensor of a type that an ensemble file knows.
        dims: Its shape with the leading dimension of the rows; a length that is not fixed is None; None
            altogether where the model does not say.
        items: None for a tensor; for a sequence what its items are: ``tensors``, or for mappings the type of their
            keys, with values of type ``element``.
        is_optional: Whether the model does without it.
    """

    name: str
    element: str | None
    dims: tuple[int | None, ...] | None
    items: str | None = None
    is_optional: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Signature:
    """What a model takes and gives.

    Attributes:
        inputs: What it must be given.
        outputs: What it gives.
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
