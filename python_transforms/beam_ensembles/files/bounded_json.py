"""Reads JSON of files that nobody vouches for: what its values take in memory is counted before any of them is made.

A document of empty lists takes forty times its size as Python's objects. Each value stands behind a mark (a bracket, a
comma, a colon or a quotation mark), so the marks say how many there can be; their texts are as long as the document.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import IO, Any, Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.limits import LARGEST_JSON, MOST_JSON_MEMORY

_BYTES: Final = {b"{": 184, b"[": 88, b",": 40, b":": 64, b'"': 32}
"""What the value behind a mark takes at most: an object or a list with room for its first items, a number and its place
in a list, the place of a key, and half of a short text."""
_NARROW: Final = 2
_WIDE: Final = 8
"""The bytes of a document and of its texts as Python's texts; one character can make four bytes of each of them."""


class JsonError(ModelFormatError):
    """The document is not JSON, or one too large or too deep to be read here."""


class NoJsonError(JsonError):
    """The document is not JSON."""


def load_json(file: IO[bytes], *, most_bytes: int = LARGEST_JSON) -> Any:
    """Reads a file, or a member of an archive, that holds a document.

    Args:
        file: Where it is.
        most_bytes: Bytes that it may have.

    Raises:
        JsonError: It is not JSON, or too large.
    """
    data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise JsonError(f"its JSON is longer than {most_bytes >> 20} MiB")
    return read_json(data)


def read_json(
    data: bytes,
    *,
    most_memory: int = MOST_JSON_MEMORY,
    pairs: Callable[[list[tuple[str, Any]]], Any] | None = None,
) -> Any:
    """Reads a document.

    Args:
        data: Its bytes, UTF-8.
        most_memory: Bytes that its values may take.
        pairs: What makes an object of its keys and values; None: a dictionary.

    Raises:
        JsonError: It is not JSON, or its values would take more memory.
    """
    check_memory(data, most_memory)
    try:
        return json.loads(data.decode(), object_pairs_hook=pairs)
    except RecursionError as exc:
        raise JsonError("its JSON is nested too deep") from exc
    except ModelFormatError:  # of ``pairs``
        raise
    except ValueError as exc:
        raise NoJsonError(f"its JSON is damaged ({exc})") from exc


def check_memory(data: bytes, most_memory: int = MOST_JSON_MEMORY) -> None:
    """Checks what a document's values would take, for one that is read elsewhere.

    Raises:
        JsonError: It is more than ``most_memory`` bytes.
    """
    memory = _memory_of(data)
    if memory > most_memory:
        text = f"its JSON would take up to {memory >> 20} MiB in memory, more than {most_memory >> 20} MiB"
        raise JsonError(text)


def _memory_of(data: bytes) -> int:
    """Returns the most memory, in bytes, that a document's values can take."""
    is_narrow = data.isascii() and b"\\u" not in data
    marks = sum(data.count(mark) * bytes_ for mark, bytes_ in _BYTES.items())
    return marks + len(data) * (_NARROW if is_narrow else _WIDE)
