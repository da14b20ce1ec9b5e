"""Which arm a key takes: the same on every worker, in every release and every language.

The algorithm is published in ``docs/reference/routes.md`` and must never change: pipelines that run, and experiments
that were evaluated, rest on it. ``tests/golden/split`` holds what it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.types import INTEGERS, Scalar, Type

_NULL: Final = b"\xff\xff\xff\xff"


def is_key(type_: Type) -> bool:
    """Returns whether a column of a type can be part of a key: text, bytes, whole numbers, booleans, points in time."""
    return isinstance(type_, Scalar) and (type_.name in _TO_BYTES or type_.name in INTEGERS)


def key_hashes(columns: Sequence[tuple[np.ndarray, Type, np.ndarray | None]], salt: str) -> np.ndarray:
    """Hashes the keys of some rows.

    Args:
        columns: The key's columns in order: values, type, and which rows have a value (None: all).
        salt: What makes one split independent of another one over the same keys.

    Returns:
        One unsigned 64-bit number per row.
    """
    import xxhash

    digest, seed = xxhash.xxh64_intdigest, xxhash.xxh64_intdigest(salt.encode())
    fields = [_fields(values, type_, valid) for values, type_, valid in columns]
    keys = fields[0] if len(fields) == 1 else map(b"".join, zip(*fields, strict=True))
    return np.fromiter((digest(key, seed) for key in keys), dtype=np.uint64, count=len(columns[0][0]))


def _fields(values: np.ndarray, type_: Type, valid: np.ndarray | None) -> list[bytes]:
    """Returns each value with its length in front; four bytes of ones stand for null."""
    to_bytes = _TO_BYTES[type_.name] if isinstance(type_, Scalar) and type_.name in _TO_BYTES else _decimal
    if valid is None or valid.all():
        contents = map(to_bytes, values.tolist())
        return [len(content).to_bytes(4, "little") + content for content in contents]
    fields = iter(_fields(values[valid], type_, None))
    return [next(fields) if has_value else _NULL for has_value in valid.tolist()]


def _decimal(value: int) -> bytes:
    return b"%d" % value


def _truth(value: bool) -> bytes:
    return b"true" if value else b"false"


def _micros(value: Any) -> bytes:
    return b"%d" % value.micros


_TO_BYTES: Final[Mapping[str, Callable[[Any], bytes]]] = {
    "string": str.encode,
    "bytes": bytes,
    "boolean": _truth,
    "timestamp": _micros,
}
"""The canonical bytes of a value; whole numbers are decimal digits."""


class Rendezvous:
    """Weighted rendezvous hashing: every arm draws a number for the key, and the highest wins.

    When weights change, a key only moves to an arm that gained or from one that lost, so that no more keys move than
    must.

    Args:
        arms: The weight of each arm, whole numbers, at least one of them not 0.
    """

    def __init__(self, arms: Mapping[str, int]) -> None:
        import xxhash

        names = sorted((name for name in arms if arms[name]), key=str.encode)
        self.names = np.array(names, dtype=object)
        """The arms that keys can take, in the order of their UTF-8 bytes."""
        self._weights = np.array([arms[name] for name in names], dtype=np.float64)[:, np.newaxis]
        hashes = [xxhash.xxh64_intdigest(name.encode()) for name in names]
        self._hashes = np.array(hashes, dtype=np.uint64)[:, np.newaxis]

    def __call__(self, keys: np.ndarray) -> np.ndarray:
        """Returns the arm of each key: texts, ``[N]``, of the keys' hashes."""
        draws = (_mixed(keys ^ self._hashes) >> np.uint64(12)).astype(np.float64)
        scores = self._weights / -np.log((draws + 0.5) * 2.0**-52)
        found: np.ndarray = self.names[scores.argmax(axis=0)]
        return found


def _mixed(values: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64: one bit of difference changes every bit with a probability of one half."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))
