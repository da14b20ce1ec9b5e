"""How long the texts of a Parquet page are whose encoding (``DELTA_BYTE_ARRAY``) repeats the start of the one before.

A page of a megabyte may have a million texts of a megabyte, all in the list of one row.
"""

from __future__ import annotations

import struct
from typing import Final

import numpy as np
import pyarrow as pa

from beam_ensembles.tables.parquet_thrift import CompactReader

_CODECS: Final = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
"""Arrow's names of the format's codecs; not of LZ4 in Hadoop's frames, and LZO, which Arrow does not read."""
_LENGTH: Final = struct.Struct("<i")
_WIDEST: Final = 32


class UnknownPrefixes(ValueError):
    """A page's lengths cannot be read here."""


def length_of_prefixes(data: bytes, unpacked: int, codec: int, levels: int | None, values: int) -> int:
    """Returns how many bytes the repeated starts of a page's texts have together.

    Args:
        data: The page behind its header.
        unpacked: Bytes that it has once unpacked.
        codec: How it is packed, as the footer has it.
        levels: Bytes in front that tell which list each value belongs to; None: they are part of what is packed.
        values: How many texts it may have.

    Raises:
        UnknownPrefixes: They cannot be read.
    """
    try:
        front = levels or 0
        rest = data[front:] if codec == 0 else _unpacked(data[front:], unpacked - front, codec)
        for _ in range(0 if levels is not None else 2):
            (length,) = _LENGTH.unpack_from(rest)
            if length < 0:
                raise UnknownPrefixes
            rest = rest[_LENGTH.size + length :]
        return int(_delta_packed(rest, values).sum(dtype=np.int64))
    except (KeyError, IndexError, ValueError, struct.error, OSError, pa.ArrowException) as error:
        raise UnknownPrefixes from error


def _unpacked(data: bytes, size: int, codec: int) -> bytes:
    return bytes(pa.Codec(_CODECS[codec]).decompress(data, size, asbytes=True))


def _delta_packed(data: bytes, most: int) -> np.ndarray:
    """Returns the numbers of ``DELTA_BINARY_PACKED``, int32."""
    reader = CompactReader(data)
    block, parts, count, first = reader.unsigned(), reader.unsigned(), reader.unsigned(), reader.signed()
    if not 0 < parts <= block or block % parts or (block // parts) % 32 or not 0 < count <= most:
        raise UnknownPrefixes
    found = [np.array([first], np.int64)]
    left = count - 1
    while left > 0:
        least = reader.signed()
        widths = data[reader.at : reader.at + parts]
        reader.at += parts
        for width in widths:
            if left <= 0:
                break
            size = block // parts * width // 8
            part = data[reader.at : reader.at + size]
            if width > _WIDEST or len(part) < size:
                raise UnknownPrefixes
            reader.at += size
            found.append(_bit_packed(part, width, block // parts)[:left] + least)
            left -= block // parts
    numbers = np.cumsum(np.concatenate(found), dtype=np.int64).astype(np.int32)
    if (numbers < 0).any():
        raise UnknownPrefixes
    return numbers


def _bit_packed(data: bytes, width: int, count: int) -> np.ndarray:
    """Returns numbers of so many bits each, int64."""
    if not width:
        return np.zeros(count, np.int64)
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little").reshape(count, width)
    return bits.astype(np.int64) @ (1 << np.arange(width, dtype=np.int64))
