"""Reads lists and maps of rows whose counts may lie.

Beam's compiled coders read as many elements as a count says. The bytes that follow a message (``BoundedStream``) begin
no varint, text, null, boolean or row, so that Beam's own loops end there with an error. Lists of numbers of a fixed
size would go on: their counts are compared with the bytes that are left.

Written for Apache Beam 2.77.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from typing import Any, Final

from apache_beam.coders import coder_impl
from apache_beam.coders.coders import (
    BigEndianShortCoder,
    BooleanCoder,
    ByteCoder,
    BytesCoder,
    Coder,
    FloatCoder,
    IterableCoder,
    MapCoder,
    NullableCoder,
    SinglePrecisionFloatCoder,
    StrUtf8Coder,
    VarInt32Coder,
    VarIntCoder,
)
from apache_beam.coders.row_coder import RowCoder

from beam_ensembles.beam_repairs.bounded_rows import BoundedStream, check, left, malformed

_FIXED: Final[dict[type, str]] = {
    FloatCoder: "8d",
    SinglePrecisionFloatCoder: "4f",
    BigEndianShortCoder: "2h",
    ByteCoder: "1B",
}
"""How many bytes a number takes, and how ``struct`` calls it."""
_FENCED: Final = (
    BooleanCoder, BytesCoder, IterableCoder, NullableCoder, RowCoder, StrUtf8Coder, VarInt32Coder, VarIntCoder,
)  # fmt: skip
"""What raises an error at the fence. A map does not: it takes a negative count for an empty map."""
_Rows: Any = coder_impl.RowCoderImpl
_Lists: Any = coder_impl.IterableCoderImpl
_Maps: Any = coder_impl.MapCoderImpl


def bounded(coder: Coder) -> Coder:
    """Returns a coder of the same bytes that reads no list or map beyond the fence."""
    if type(coder) is IterableCoder:
        element = coder._elem_coder
        return coder if isinstance(element, _FENCED) else BoundedList(element)
    if type(coder) is MapCoder and not isinstance(coder._key_coder, _FENCED):
        return BoundedMap(coder._key_coder, coder._value_coder)
    return coder


class BoundedList(IterableCoder):
    """Beam's coder of lists, which refuses counts beyond the bytes that came."""

    def _create_impl(self) -> Any:
        element = self._elem_coder
        if type(element) in _FIXED:
            return _Fixed(element.get_impl(), _FIXED[type(element)])
        return _Each(element.get_impl())


class BoundedMap(MapCoder):
    """Beam's coder of maps, which refuses counts beyond the bytes that came."""

    def _create_impl(self) -> Any:
        return _Entries(self._key_coder.get_impl(), self._value_coder.get_impl())


class BoundedRows(_Rows):  # type: ignore[misc]
    """Beam's implementation for rows, which reads a row that stands alone no further than its bytes.

    Args:
        schema: Beam's description of the row.
        components: The coders of its fields.
        fence: How many bytes follow a row while it is read.
    """

    __slots__ = ("_fence",)

    def __init__(self, schema: Any, components: list[Any], fence: int) -> None:
        super().__init__(schema, components)
        self._fence = fence

    def decode(self, encoded: bytes) -> Any:
        """Reads one row, such as a runner sends it with its length.

        Raises:
            EnsembleError: A length in it goes beyond its end.
        """
        stream = BoundedStream(encoded, self._fence)
        try:
            found = self.decode_from_stream(stream, False)
        finally:
            check(stream)
        return found


class _Each(_Lists):  # type: ignore[misc]
    """Reads elements one by one, with a look before each at what is left."""

    __slots__ = ("_read",)

    def __init__(self, element: Any) -> None:
        super().__init__(element)
        self._read = element.decode_from_stream

    def decode_from_stream(self, stream: Any, nested: bool) -> list[Any]:
        count = stream.read_bigendian_int32()
        if count >= 0:
            return self._several(stream, count)
        found: list[Any] = []  # of a length that the writer did not know: blocks, each with its count
        while (count := stream.read_var_int64()) > 0:
            found += self._several(stream, count)
        if count < 0:
            raise malformed()
        return found

    def _several(self, stream: Any, count: int) -> list[Any]:
        found = []
        for _ in range(count):
            if left(stream) <= 0:
                raise malformed()
            found.append(self._read(stream, True))
        return found


class _Fixed(_Each):
    """Reads numbers that take as many bytes each."""

    __slots__ = ("_code", "_size")

    def __init__(self, element: Any, code: str) -> None:
        super().__init__(element)
        self._size, self._code = int(code[0]), code[1]

    def _several(self, stream: Any, count: int) -> list[Any]:
        size = count * self._size
        if size > stream.size():
            raise malformed()
        return list(_unpacker(self._code, count)(stream.read(size)))


@functools.lru_cache(maxsize=1024)
def _unpacker(code: str, count: int) -> Callable[[bytes], tuple[Any, ...]]:
    return struct.Struct(f">{count}{code}").unpack


class _Entries(_Maps):  # type: ignore[misc]
    __slots__ = ("_parts",)

    def __init__(self, key: Any, value: Any) -> None:
        super().__init__(key, value)
        self._parts = key.decode_from_stream, value.decode_from_stream

    def decode_from_stream(self, stream: Any, nested: bool) -> dict[Any, Any]:
        read_key, read_value = self._parts
        found = {}
        for _ in range(stream.read_bigendian_int32()):
            if left(stream) <= 0:
                raise malformed()
            key = read_key(stream, True)
            found[key] = read_value(stream, True)
        return found
