"""Reads structs of Thrift's compact protocol, in which Parquet writes its footer and the headers of its pages.

This reader decides what Arrow may read, so both must find the same in the same bytes. Arrow's Thrift skips a known
field of another kind, takes the last of two fields, keeps the low bits of a longer number, and does not look at the
kind that a known list announces. All of these are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

BOOL: Final = 1
I32: Final = 5
I64: Final = 6
BINARY: Final = 8
STRUCT: Final = 12

Shape: TypeAlias = "Mapping[int, int | Shape | list[int | Shape]]"
"""The known fields of a struct, by their numbers: the kind of a number, a struct, or a list of either."""

_LIST: Final = 9
_DEEPEST: Final = 16
_NUMBERS: Final = (4, I32, I64)


class MalformedThrift(ValueError):
    """The bytes are no struct, or one that Arrow would read in another way."""


class CompactReader:
    """Reads a struct; keeps the numbers and structs of known fields, and skips the others.

    Args:
        data: What begins with it; an ``IndexError`` says that it is longer.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def struct(self, shape: Shape, depth: int = 0) -> dict[int, Any]:
        """Returns its known fields by their numbers; ``at`` is where it ends then.

        Raises:
            MalformedThrift: It cannot be read.
            IndexError: It is longer than the bytes.
        """
        if depth > _DEEPEST:
            raise MalformedThrift
        found: dict[int, Any] = {}
        field = 0
        while (head := self._byte()) != 0:
            kind, step = head & 15, head >> 4
            field = field + step if step else self.signed()
            if not -(1 << 15) <= field < 1 << 15:
                raise MalformedThrift
            known = shape.get(field)
            if known is None:
                self._skip(kind, depth)
                continue
            if field in found:
                raise MalformedThrift
            found[field] = self._known(kind, known, depth)
        return found

    def _known(self, kind: int, known: int | Shape | list[int | Shape], depth: int) -> Any:
        if isinstance(known, list):
            count, items = self._list_head()
            one = known[0]
            if kind != _LIST or (count and items != (one if isinstance(one, int) else STRUCT)):
                raise MalformedThrift
            return [self._known(items, one, depth + 1) for _ in range(count)]
        if known == BOOL and kind in (1, 2):
            return kind == 1
        if kind != (known if isinstance(known, int) else STRUCT):
            raise MalformedThrift
        if not isinstance(known, int):
            return self.struct(known, depth + 1)
        if known in _NUMBERS:
            found = self.signed()
            if not -(1 << 63) <= found < 1 << 63 or (known == I32 and not -(1 << 31) <= found < 1 << 31):
                raise MalformedThrift
            return found
        self._skip(kind, depth)
        return None

    def _skip(self, kind: int, depth: int) -> None:
        if kind in (1, 2):  # a boolean is its kind
            return
        if kind in _NUMBERS:
            self.unsigned()
        elif kind == STRUCT:
            self.struct({}, depth + 1)
        elif kind in (3, 7):
            self._pass(1 if kind == 3 else 8)
        elif kind == BINARY:
            self._pass(self.unsigned())
        elif kind in (_LIST, 10):
            count, items = self._list_head()
            self._skip_items(count, (items,), depth)
        elif kind == 11:
            count = self.unsigned()
            kinds = self._byte() if count else 0
            self._skip_items(count, (kinds >> 4, kinds & 15), depth)
        else:
            raise MalformedThrift

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        return self.unsigned() if head >> 4 == 15 else head >> 4, head & 15

    def _skip_items(self, count: int, kinds: tuple[int, ...], depth: int) -> None:
        if depth > _DEEPEST:
            raise MalformedThrift
        for _ in range(count):
            for kind in kinds:
                if kind in (1, 2):  # in a list it takes a byte
                    self._pass(1)
                else:
                    self._skip(kind, depth + 1)

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def signed(self) -> int:
        """Returns the number that comes next, which is written in zigzag."""
        found = self.unsigned()
        return (found >> 1) ^ -(found & 1)

    def unsigned(self) -> int:
        """Returns the number that comes next."""
        found = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            found |= (byte & 127) << shift
            if byte < 128:
                return found
        raise MalformedThrift

    def _pass(self, count: int) -> None:
        self.at += count
        if self.at > len(self._data):
            raise IndexError
