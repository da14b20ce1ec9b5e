"""A digest of each row of some columns, which is the same wherever the row stands."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from beam_ensembles.graph.kinds import Columns, validity
from beam_ensembles.tables.json_text import to_json
from beam_ensembles.types import Type

_TEXT, _NULL = b"t", b"n"


def row_keys(prefix: bytes, columns: Columns, types: Sequence[tuple[str, Type]]) -> list[bytes]:
    """Returns 32 bytes for each row, which change with any of its values.

    Args:
        prefix: What else they change with.
        columns: The columns, and companions of those that have nulls.
        types: The columns to look at, with their types; the order counts.
    """
    start = hashlib.sha256(prefix)
    parts = [_texts(columns, name, type_) for name, type_ in types]
    keys = []
    for row in zip(*parts, strict=True):
        digest = start.copy()
        for part in row:
            digest.update(b"%d:" % len(part))
            digest.update(part)
        keys.append(digest.digest())
    return keys


def _texts(columns: Columns, name: str, type_: Type) -> list[bytes]:
    """Returns the bytes of each value of a column; of numbers theirs, of others their JSON."""
    values = columns[name]
    texts = [_text(value) for value in values] if values.dtype == object else _numbers(values)
    present = columns.get(validity(name))
    if present is not None:
        texts = [text if is_there else _NULL for text, is_there in zip(texts, present.tolist(), strict=True)]
    return texts


def _text(value: object) -> bytes:
    if isinstance(value, str):
        return _TEXT + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    return b"j" + to_json(_sorted(value)).encode("utf-8", "surrogatepass")


def _sorted(value: object) -> object:
    """Returns a value with the entries of its mappings in the order of their keys."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    if isinstance(value, dict):
        return [[key, _sorted(value[key])] for key in sorted(value, key=repr)]
    return value


def _numbers(values: np.ndarray) -> list[bytes]:
    rows = len(values)
    head = f"{values.dtype.str}{values.shape[1:]}".encode()
    size = values.itemsize * int(np.prod(values.shape[1:]))
    if not rows or not size:
        return [head] * rows
    whole = values.tobytes()
    return [head + whole[at : at + size] for at in range(0, rows * size, size)]
