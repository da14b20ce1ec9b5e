"""What a model takes and gives, as far as it says so itself: the same words for every framework."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Final

from beam_ensembles.errors import ModelFormatError

_LONGEST_DETAIL: Final = 200
"""Characters of a parser's own words that a message repeats."""

TENSORS: Final = "tensors"
"""``Port.items`` of a sequence of tensors."""


@contextlib.contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turns any error of a block or a function that reads an untrusted file into one sentence.

    Parsers raise any exception where a file lies: of recursion, of memory, of their tokens.

    Args:
        what: What the file is then, such as ``the file is not a Keras 3 archive``.

    Raises:
        ModelFormatError: Something was raised that is none, and none of the system (``OSError``).
    """
    try:
        yield
    except (ModelFormatError, OSError):
        raise
    except MemoryError as exc:
        raise ModelFormatError(f"{what} (reading it takes more memory than there is)") from exc
    except Exception as exc:
        detail = " ".join(str(exc).split())[:_LONGEST_DETAIL]
        raise ModelFormatError(f"{what} ({type(exc).__name__}{detail and ': '}{detail})") from exc


@dataclasses.dataclass(frozen=True, slots=True)
class Port:
    """An input or an output of a model.

    Attributes:
        name: Its name.
        element: The type of its values, or None where it is not a tensor of a type that an ensemble file knows.
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
