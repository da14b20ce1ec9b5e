"""Arrow's values of any type as Python's own, with every digit that they have.

What Python's types cannot hold, the nanoseconds of a point in time, a time of day or a duration, comes as the text in
which files have it. ``pyarrow`` would give objects of pandas where that is installed, else an error or fewer digits.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.columns.arrow_types import is_list


def plain_values(array: pa.Array, *, micros: bool = False) -> list[Any]:
    """Returns the values of an Arrow array as Python's own: numbers, text, lists, mappings, points in time.

    Args:
        array: The array. A map whose keys Python cannot hash becomes a list of pairs.
        micros: Whether points in time that have nanoseconds come as Beam's, which what reads them takes; other
            values lose theirs.
    """
    found = array.type
    if not _needs_care(found):
        return list(array.to_pylist(maps_as_pydicts="lossy"))
    if _has_nanos(found):
        return _with_nanos(array, micros)
    if isinstance(found, pa.BaseExtensionType):
        return plain_values(array.storage, micros=micros)
    if pa.types.is_dictionary(found):
        known = plain_values(array.dictionary, micros=micros)
        return [None if at is None else known[at] for at in array.indices.to_pylist()]
    if pa.types.is_run_end_encoded(found):
        return plain_values(pc.run_end_decode(array), micros=micros)
    if pa.types.is_struct(found):
        fields = [plain_values(child, micros=micros) for child in array.flatten()]
        rows = (dict(zip(found.names, values, strict=True)) for values in zip(*fields, strict=True))
        return _where(array, rows)
    if pa.types.is_map(found):
        return [None if one is None else _mapping(one, micros) for one in _entries(array)]
    flat = iter(plain_values(array.flatten(), micros=micros))
    lengths = pc.list_value_length(array).to_pylist()
    return [None if length is None else list(itertools.islice(flat, length)) for length in lengths]


def _needs_care(found: pa.DataType) -> bool:
    """Whether a type holds nanoseconds, or a map with keys that Python cannot hash."""
    if isinstance(found, pa.BaseExtensionType):
        return _needs_care(found.storage_type)
    if pa.types.is_dictionary(found) or pa.types.is_run_end_encoded(found):
        return _needs_care(found.value_type)
    if pa.types.is_map(found) and pa.types.is_nested(found.key_type):
        return True
    if is_list(found) or _is_list_view(found) or pa.types.is_map(found) or pa.types.is_struct(found):
        return any(_needs_care(found.field(at).type) for at in range(found.num_fields))
    return _has_nanos(found)


def _is_list_view(found: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(found) or pa.types.is_large_list_view(found))


def _has_nanos(found: pa.DataType) -> bool:
    kinds = (pa.types.is_timestamp, pa.types.is_time64, pa.types.is_duration)
    return any(kind(found) for kind in kinds) and found.unit == "ns"


def _where(array: pa.Array, values: Iterator[Any]) -> list[Any]:
    valid = array.is_valid().to_pylist()
    return [value if is_there else None for value, is_there in zip(values, valid, strict=True)]


def _entries(array: pa.Array) -> list[pa.Array | None]:
    return [array[at].values if array[at].is_valid else None for at in range(len(array))]


def _mapping(entries: pa.Array, micros: bool) -> Any:
    keys, items = (plain_values(entries.field(at), micros=micros) for at in range(2))
    pairs = list(zip(keys, items, strict=True))
    return [list(pair) for pair in pairs] if pa.types.is_nested(entries.type[0].type) else dict(pairs)


def _with_nanos(array: pa.Array, micros: bool) -> list[Any]:
    """Returns values in nanoseconds: as Python's own where they are whole microseconds, else as text."""
    counts: Sequence[int | None] = array.cast(pa.int64()).to_pylist()
    parts = [(None, 0) if count is None else divmod(count, 1000) for count in counts]
    whole = pa.array([part for part, _ in parts], pa.int64()).cast(_in_micros(array.type)).to_pylist()
    if micros and pa.types.is_timestamp(array.type):
        return [
            value if not rest or count is None else Timestamp(0, count, Timestamp.NANOS_PRECISION)
            for value, count, (_, rest) in zip(whole, counts, parts, strict=True)
        ]
    if micros:
        return list(whole)
    return [value if not rest else _text(value, rest) for value, (_, rest) in zip(whole, parts, strict=True)]


def _in_micros(found: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(found):
        return pa.timestamp("us", tz=found.tz)
    return pa.time64("us") if pa.types.is_time64(found) else pa.duration("us")


def _text(value: Any, nanos: int) -> str:
    """Returns the text of a value in which nine digits follow the seconds.

    Args:
        value: The value without what is below a microsecond.
        nanos: The nanoseconds below that: 1 to 999.
    """
    if isinstance(value, datetime.timedelta):
        seconds = datetime.timedelta(value.days, value.seconds)
        return f"{seconds}.{value.microseconds:06}{nanos:03}"
    text = value.isoformat(timespec="microseconds")
    end = text.index(".") + 7
    return f"{text[:end]}{nanos:03}{text[end:]}"
