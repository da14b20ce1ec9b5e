"""Name the file in errors of writing: the system says only that a disk is full."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

STANDARD_OUTPUT: Final = "standard output"


@contextlib.contextmanager
def naming(place: str) -> Iterator[None]:
    """Add the name of a file to an ``OSError`` that names none.

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
