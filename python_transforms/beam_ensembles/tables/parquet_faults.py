"""Find rows of a Parquet file that Python cannot hold: text that is not UTF-8, years beyond 9999."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from beam_ensembles.errors import NodeError
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.tables.arrow_values import plain_values
from beam_ensembles.tables.chunk import Fault

_UNREADABLE: Final = (ValueError, OverflowError, LookupError, pa.ArrowException)
_UNITS: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_FIRST: Final = -62_135_510_400
"""The second day of the year 1, in seconds: that of no time zone is before it."""
_LAST: Final = 253_402_214_400
"""The last day of the year 9999."""


def faults_of(batch: pa.RecordBatch, first: int) -> list[Fault]:
    """Finds the rows of a batch that cannot be read.

    Args:
        batch: The rows.
        first: Which row of the data the first one is.
    """
    wrong: dict[int, str] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if _is_readable(column):
            continue
        for at, why in _wrong(column):
            wrong.setdefault(at, f"'{name}' cannot be read: {why}")
    return [
        Fault(first + at, _shown(batch.slice(at, 1)), NodeError("bad_line", why))
        for at, why in sorted(wrong.items())
    ]


def _is_readable(column: pa.Array) -> bool:
    try:
        column.validate(full=True)
        if pa.types.is_dictionary(column.type):
            column.dictionary.validate(full=True)
        if pa.types.is_timestamp(column.type) and column.type.tz in (None, "UTC"):
            limits = pc.min_max(column.cast(pa.int64())).as_py()
            unit = _UNITS[column.type.unit]
            if limits["min"] is None or (_FIRST * unit < limits["min"] and limits["max"] < _LAST * unit):
                return True
        if _has_time(column.type) or pa.types.is_dictionary(column.type):
            plain_values(column)
    except _UNREADABLE:
        return False
    return True


def _has_time(found: pa.DataType) -> bool:
    return pa.types.is_temporal(found) or any(
        _has_time(found.field(at).type) for at in range(found.num_fields)
    )


def _wrong(column: pa.Array) -> Iterator[tuple[int, str]]:
    for at in range(len(column)):
        try:
            one = _alone(column, at)
            one.validate(full=True)
            plain_values(one)
        except UnicodeDecodeError:
            yield at, "the text is not UTF-8"
        except _UNREADABLE as error:
            said = text_of(error)
            yield at, "the text is not UTF-8" if "UTF8" in said else said


def _alone(column: pa.Array, at: int) -> pa.Array:
    try:
        return column.take(pa.array([at], pa.int64()))  # what a slice of a struct leaves out would count
    except pa.ArrowNotImplementedError:  # of views (pyarrow 25)
        return pa.concat_arrays([column.slice(at, 1)])


def _shown(row: pa.RecordBatch) -> dict[str, Any]:
    """Returns a row for people: unreadable values as text, with invalid bytes escaped."""
    return {name: _value(column) for name, column in zip(row.schema.names, row.columns, strict=True)}


def _value(column: pa.Array) -> Any:
    try:
        return plain_values(column)[0]
    except _UNREADABLE:
        pass
    try:
        return column.cast(pa.binary()).to_pylist()[0].decode("utf-8", "backslashreplace")
    except _UNREADABLE:
        return f"(a {column.type} that cannot be read)"
