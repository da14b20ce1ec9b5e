"""Reads a whole XGBoost model, JSON or UBJSON, so that it can be checked before xgboost reads it.

Only what ``save_model`` writes is read. xgboost itself takes more, and would see another model in some of that: of a
key that an object has twice, for one.
"""

from __future__ import annotations

import struct
import sys
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.files.bounded_json import JsonError, read_json
from beam_ensembles.limits import MOST_JSON_MEMORY

_DEEPEST: Final = 32
_NUMBERS: Final = {
    b"U": ">u1", b"i": ">i1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8",
}  # fmt: skip
"""The types of numbers in UBJSON, as numpy names them."""
_LAYOUTS: Final = {kind: struct.Struct(f">{char}") for kind, char in zip(_NUMBERS, "Bbhiqfd", strict=True)}
_LENGTH: Final = struct.Struct(">cq")
_MOST_TIMES: Final = 16
"""A document's values may take so many times its size; those of models take up to 11 times."""
_VALUE, _ITEMS, _KEY = 64, 184, 200
"""Bytes that a number or a text takes with its place in a list, an object, a list
or an array, and a key with its place."""
_PLAIN: Final = {b"T": True, b"F": False, b"Z": None}


class DocumentError(ModelFormatError):
    """The bytes are not a model in JSON or UBJSON as XGBoost writes it."""


def read_document(data: bytes) -> Any:
    """Returns the document as dictionaries, lists, numbers and texts; arrays of numbers of UBJSON are numpy arrays.

    Raises:
        DocumentError: It is neither JSON nor UBJSON, is cut off, or has a key twice.
    """
    if data[:1] != b"{":
        raise DocumentError("the file is not an XGBoost model in JSON or UBJSON")
    try:
        if data[1:2] in (b'"', b" ", b"\t", b"\r", b"\n"):
            return read_json(data, most_memory=_most_memory(data), pairs=_unique)
        return _Ubjson(data).read()
    except DocumentError:
        raise
    except JsonError as exc:
        raise DocumentError(f"the file is not an XGBoost model: {exc}") from exc
    except (ValueError, IndexError, RecursionError, struct.error) as exc:
        raise DocumentError(
            f"the file is not an XGBoost model in JSON or UBJSON ({type(exc).__name__})"
        ) from exc


def read_object(data: bytes, at: int) -> dict[str, Any]:
    """Reads one object of UBJSON, whose first key stands at a byte; the data may go on behind it.

    Raises:
        DocumentError: It is not as XGBoost writes it, or is cut off.
    """
    try:
        return _Ubjson(data, at).fields()
    except (ValueError, IndexError, RecursionError, struct.error) as exc:
        raise DocumentError(f"an object at byte {at} cannot be read ({type(exc).__name__})") from exc


def _most_memory(data: bytes) -> int:
    return max(MOST_JSON_MEMORY, _MOST_TIMES * len(data))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DocumentError("an object of the file has a key twice")
    return found


class _Ubjson:
    """Reads one document; every length is compared with the bytes that are left, and the values' memory is counted."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at
        self._left = _most_memory(data)

    def _spend(self, memory: int) -> None:
        self._left -= memory
        if self._left < 0:
            most = _most_memory(self._data) >> 20
            raise DocumentError(f"the file's values would take more than {most} MiB in memory")

    def read(self) -> Any:
        found = self._value(self._bytes(1), 0)
        if self._at != len(self._data):
            raise DocumentError("the file goes on after the model")
        return found

    def fields(self) -> dict[str, Any]:
        return self._object(1)

    def _bytes(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._data):
            raise DocumentError(f"the file ends within a value at byte {self._at}")
        found = self._data[self._at : end]
        self._at = end
        return found

    def _number(self, kind: bytes) -> Any:
        layout = _LAYOUTS[kind]
        (found,) = layout.unpack_from(self._data, self._at)
        self._at += layout.size
        return found

    def _length(self) -> int:
        kind, found = _LENGTH.unpack_from(self._data, self._at)
        if kind != b"L":
            raise DocumentError(f"a length at byte {self._at} is not written as XGBoost does")
        self._at += _LENGTH.size
        return int(found)

    def _text(self) -> str:
        text = self._bytes(self._length()).decode()
        self._spend(sys.getsizeof(text))
        return text

    def _value(self, kind: bytes, depth: int) -> Any:
        self._spend(_VALUE)
        if kind in _NUMBERS:
            return self._number(kind)
        if kind == b"S":
            return self._text()
        if kind in _PLAIN:
            return _PLAIN[kind]
        if depth >= _DEEPEST:
            raise DocumentError(f"values are nested more than {_DEEPEST} deep")
        if kind == b"{":
            return self._object(depth + 1)
        if kind == b"[":
            return self._array(depth + 1)
        raise DocumentError(f"an unknown type {kind!r} at byte {self._at}")

    def _object(self, depth: int) -> dict[str, Any]:
        self._spend(_ITEMS)
        pairs = []
        while self._data[self._at : self._at + 1] != b"}":
            self._spend(_KEY)
            name = self._text()
            pairs.append((name, self._value(self._bytes(1), depth)))
        self._at += 1
        return _unique(pairs)

    def _array(self, depth: int) -> Any:
        head = self._bytes(1)
        self._spend(_ITEMS)
        if head == b"$":
            dtype = np.dtype(_NUMBERS[self._kind_of_items()])
            return np.frombuffer(self._bytes(self._length() * dtype.itemsize), dtype)
        if head != b"#":
            raise DocumentError(f"an array at byte {self._at} does not say how long it is")
        count = self._length()
        if count > len(self._data):
            raise DocumentError(f"the file ends within an array at byte {self._at}")
        return [self._value(self._bytes(1), depth) for _ in range(count)]

    def _kind_of_items(self) -> bytes:
        kind, mark = self._bytes(1), self._bytes(1)
        if kind not in _NUMBERS or mark != b"#":
            raise DocumentError(f"an array at byte {self._at} is not written as XGBoost does")
        return kind
