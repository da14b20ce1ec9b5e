"""Errors of writing that name what could not be written: the system itself says only that a disk is full."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

STANDARD_OUTPUT: Final = "standard output"


@contextlib.contextmanager
def naming(place: str) -> Iterator[None]:
    """Gives an ``OSError`` that names no file the name of one.

    Args:
        place: What the block writes to.

    Raises:
        OSError: What the block raised.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = place
        raise


def said_of(error: OSError) -> str:
    """Returns what an error of the system says in one sentence: the file, where it names one, and what is wrong."""
    name = error.filename
    place = "" if name is None else f"{name}: " if name == STANDARD_OUTPUT else f"'{name}': "
    return f"{place}{error.strerror or error}"
