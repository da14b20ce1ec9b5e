"""Beam's logical types: which of the language's types each one is, and its values on the wire as columns have them.

A logical type crosses as its representation, in rows and in Arrow record batches, and stays so in a field that nothing
reads. The two oldest instants are an exception: Beam's row coder gives ``Timestamp`` for them, and record batches have
them as whole microseconds.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections.abc import Callable, Mapping
from typing import Any, Final

from apache_beam.portability.api import schema_pb2
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.beam_repairs.row_coder import row_class
from beam_ensembles.columns.nested_rows import items_in_order
from beam_ensembles.columns.timestamps import instant_of_text
from beam_ensembles.types import BYTES, INSTANTS, INT32, MILLIS_INSTANT, STRING, TIMESTAMP, Scalar, Type

_Change = Callable[[Any], Any]
"""Changes one value; what it cannot change it gives back as it is."""

NANOS_INSTANT: Final = "beam:logical_type:nanos_instant:v1"
PRECISE_INSTANT: Final = "beam:logical_type:timestamp:v1"
GO_TIME: Final = "time.Time"
"""What Beam's Go SDK makes of a ``time.Time``: a row of one text, RFC 3339 with its offset and nanoseconds."""

DATE: Final = "beam:logical_type:date:v1"
TIME: Final = "beam:logical_type:time:v1"
DATE_AND_TIME: Final = "beam:logical_type:datetime:v1"
JAVA_ENUM: Final = "beam:logical_type:javasdk_enum:v1"
DECIMALS: Final = ("beam:logical_type:decimal:v1", "beam:logical_type:fixed_decimal:v1")
"""Decimals are read as their text, since no type of the language holds them; record batches have its bytes."""
GO_UINT8: Final = "uint8"
"""Go's byte, whose values are those of a Beam ``BYTE`` without a sign."""

_NANOS: Final = 9
_DAY: Final = 86_400
_EPOCH: Final = datetime.date(1970, 1, 1)


def type_of_logical(found: schema_pb2.LogicalType) -> Type | None:
    """Returns the type of the language that a logical type is, or None where it has no word for it."""
    if found.urn in INSTANTS:
        return TIMESTAMP
    if found.urn == PRECISE_INSTANT and not 0 <= found.argument.atomic_value.int32 <= _NANOS:
        return None
    of, representation = _TYPES.get(found.urn, (None, ""))
    return of if of is not None and _shape(found.representation) == representation else None


def _shape(found: schema_pb2.FieldType) -> str:
    """Returns which kinds of values a representation holds: ``n`` for a whole number, ``s`` for a text and so on."""
    if found.WhichOneof("type_info") == "logical_type":
        return _shape(found.logical_type.representation)
    if found.WhichOneof("type_info") == "row_type":
        return "".join(_shape(field.type) for field in found.row_type.schema.fields)
    return _KINDS.get(found.atomic_type, "?")


_KINDS: Final = {
    schema_pb2.BYTE: "n",
    schema_pb2.INT16: "n",
    schema_pb2.INT32: "n",
    schema_pb2.INT64: "n",
    schema_pb2.STRING: "s",
    schema_pb2.BYTES: "b",
}


def reader_of(found: schema_pb2.FieldType, *, by_name: bool = False) -> bytes | None:
    """Returns what ``reading`` makes a function of; None where values of a field stand for themselves.

    Args:
        found: The field's type.
        by_name: Whether the rows in it are read by the names of their fields.
    """
    is_read = by_name or _reader(found) is not None
    return found.SerializeToString(deterministic=True) if is_read else None


@functools.lru_cache(maxsize=1024)
def reading(reader: bytes) -> _Change:
    """Returns a function from a field's values on the wire to values as columns have them.

    Args:
        reader: What ``reader_of`` gave for the field; it can be pickled.
    """
    return _reader(schema_pb2.FieldType.FromString(reader), by_name=True) or _same


def _reader(found: schema_pb2.FieldType, by_name: bool = False) -> _Change | None:
    if found.WhichOneof("type_info") == "logical_type":
        logical = found.logical_type
        if type_of_logical(logical) is None or logical.urn not in _READERS:
            return None
        return _kept_where_wrong(_READERS[logical.urn](logical))
    if found.atomic_type == schema_pb2.BYTE:
        return _signed
    return _changed(found, _reader, by_name)


def writer_of(wanted: schema_pb2.FieldType, *, by_name: bool = False) -> bytes | None:
    """Returns what ``writing`` makes a function of; None where values of a column are written as they are.

    Args:
        wanted: The type of the field that the caller reads.
        by_name: Whether the rows in it have another order of fields than the column's.
    """
    is_written = by_name or _writer(wanted) is not None
    return wanted.SerializeToString(deterministic=True) if is_written else None


@functools.lru_cache(maxsize=1024)
def writing(writer: bytes) -> _Change:
    """Returns a function from a column's values, as rows hold them, to those of a field on the wire."""
    return _writer(schema_pb2.FieldType.FromString(writer), by_name=True) or _same


def _writer(wanted: schema_pb2.FieldType, by_name: bool = False) -> _Change | None:
    if wanted.WhichOneof("type_info") == "logical_type":
        return _WRITERS.get(wanted.logical_type.urn)
    return _changed(wanted, _writer, by_name)


def is_written(urn: str) -> bool:
    """Whether a ``timestamp`` can be written as a logical type."""
    return urn in INSTANTS or urn in _WRITERS


def _changed(
    found: schema_pb2.FieldType,
    change_of: Callable[[schema_pb2.FieldType, bool], _Change | None],
    by_name: bool,
) -> _Change | None:
    """Returns what changes the values within lists, maps and rows; None where none of them changes.

    Args:
        found: The type of the list, map or row.
        change_of: Returns what changes a value of a type in it, given ``by_name``, or None.
        by_name: Whether rows change in any case: they get their fields' names and order.
    """
    info = found.WhichOneof("type_info")
    if info in ("array_type", "iterable_type"):
        item = _of_optional(change_of(getattr(found, info).element_type, by_name))
        return None if item is None else lambda value: _list(value, item)
    if info == "map_type":
        parts = (found.map_type.key_type, found.map_type.value_type)
        key, of = (_of_optional(change_of(part, by_name)) for part in parts)
        if key is None and of is None:
            return None
        return lambda value: _map(value, key or _same, of or _same)
    if info == "row_type":
        fields = found.row_type.schema.fields
        found_changes = ((field.name, _of_optional(change_of(field.type, by_name))) for field in fields)
        changes = {name: change for name, change in found_changes if change is not None}
        names = tuple(field.name for field in fields)
        return (lambda value: _row(value, names, changes)) if changes or by_name else None
    return None


def _list(value: Any, item: _Change) -> Any:
    return list(map(item, value)) if isinstance(value, list | tuple) else value


def _map(value: Any, key: _Change, of: _Change) -> Any:
    return {key(k): of(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def _row(value: Any, names: tuple[str, ...], changes: Mapping[str, _Change]) -> Any:
    if isinstance(value, Mapping):
        return {name: changes.get(name, _same)(item) for name, item in value.items()}
    by_name = not isinstance(value, tuple)
    items = [getattr(value, name, None) for name in names] if by_name else items_in_order(value, names)
    if items is None:
        return value
    made = (changes.get(name, _same)(item) for name, item in zip(names, items, strict=True))
    return row_class(names)._make(made)


def _of_optional(change: _Change | None) -> _Change | None:
    return None if change is None else lambda value: None if value is None else change(value)


def _kept_where_wrong(read: _Change) -> _Change:
    def change(value: Any) -> Any:
        with contextlib.suppress(ValueError, TypeError, ArithmeticError):
            return read(value)
        return value

    return change


def _signed(value: Any) -> Any:
    """Returns a byte of Java's, of which Beam's coder gives 0 to 255, with its sign."""
    return value - 256 if type(value) is int and value > 127 else value


def _unsigned(value: Any) -> Any:
    return value & 255


def _same(value: Any) -> Any:
    return value


def _parts(value: Any) -> tuple[Any, ...]:
    return tuple(value.values()) if isinstance(value, Mapping) else tuple(value)


def _nanos_instant(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    seconds, nanos = _parts(value)
    return Timestamp(seconds, nanos, _NANOS)


def _precise_instant(digits: int, value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    seconds, parts = _parts(value)
    return Timestamp(seconds, parts, digits)


def _go_time(value: Any) -> Timestamp:
    (text,) = _parts(value)
    return instant_of_text(text)


def _date(value: Any) -> Timestamp:
    """Returns the midnight in UTC at which a date begins."""
    days = (value - _EPOCH).days if isinstance(value, datetime.date) else value
    return Timestamp(days * _DAY)


def _time_of_day(value: int) -> Timestamp:
    """Returns a time of day as that time on 1970-01-01."""
    return Timestamp(0, value, _NANOS)


def _date_and_time(value: Any) -> Timestamp:
    days, nanos = _parts(value)
    return Timestamp(days * _DAY, nanos, _NANOS)


def _names_of(found: schema_pb2.LogicalType) -> _Change:
    """Returns what makes names of the numbers of an enumeration; a number without a name stays one."""
    names = {
        entry.value.atomic_value.int32: entry.key.atomic_value.string
        for entry in found.argument.map_value.entries
    }
    return lambda value: names.get(value, value)


def _text_of_decimal(value: Any) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else str(value)


_READERS: Final[dict[str, Callable[[schema_pb2.LogicalType], _Change]]] = {
    NANOS_INSTANT: lambda _: _nanos_instant,
    PRECISE_INSTANT: lambda found: functools.partial(_precise_instant, found.argument.atomic_value.int32),
    GO_TIME: lambda _: _go_time,
    GO_UINT8: lambda _: _unsigned,
    DATE: lambda _: _date,
    TIME: lambda _: _time_of_day,
    DATE_AND_TIME: lambda _: _date_and_time,
    JAVA_ENUM: _names_of,
    **dict.fromkeys(DECIMALS, lambda _: _text_of_decimal),
}
_TYPES: Final[dict[str, tuple[Scalar, str]]] = {
    NANOS_INSTANT: (TIMESTAMP, "nn"),
    PRECISE_INSTANT: (TIMESTAMP, "nn"),
    GO_TIME: (TIMESTAMP, "s"),
    GO_UINT8: (INT32, "n"),
    DATE: (TIMESTAMP, "n"),
    TIME: (TIMESTAMP, "n"),
    DATE_AND_TIME: (TIMESTAMP, "nn"),
    JAVA_ENUM: (STRING, "n"),
    **dict.fromkeys(DECIMALS, (STRING, "b")),
    "beam:logical_type:var_char:v1": (STRING, "s"),
    "beam:logical_type:fixed_char:v1": (STRING, "s"),
    "beam:logical_type:var_bytes:v1": (BYTES, "b"),
    "beam:logical_type:fixed_bytes:v1": (BYTES, "b"),
}
"""For each logical type the language's own, and which kinds of values represent it."""

_SECONDS_AND_NANOS: Final = ("seconds", "nanos")


def _to_nanos(value: Timestamp) -> Any:
    seconds, micros = divmod(value.micros, 1_000_000)
    return row_class(_SECONDS_AND_NANOS)._make((seconds, 1_000 * micros))


def _to_go_time(value: Timestamp) -> Any:
    return row_class(("EncodedBeamData",))._make((_rfc3339(value),))


def _rfc3339(value: Timestamp) -> str:
    seconds, micros = divmod(value.micros, 1_000_000)
    try:
        at = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    except OverflowError:
        text = f"{seconds} s after 1970, and a time.Time crosses with the years 1 to 9999 only"
        raise ValueError(text) from None
    fraction = f".{micros:06}".rstrip("0") if micros else ""
    return f"{at.isoformat(timespec='seconds')}{fraction}Z"


def _to_millis(value: Timestamp) -> Timestamp:
    if value.micros % 1_000:
        text = (
            f"{value}, and its caller takes milliseconds (DATETIME); take SqlTypes.TIMESTAMP for microseconds"
        )
        raise ValueError(text)
    return value


_WRITERS: Final[dict[str, _Change]] = {
    NANOS_INSTANT: _to_nanos,
    GO_TIME: _to_go_time,
    MILLIS_INSTANT: _to_millis,
}
