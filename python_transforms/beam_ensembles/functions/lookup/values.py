"""Values of a database -> values of columns: what a declared type takes, and nothing else."""

from __future__ import annotations

import contextlib
import datetime
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

import numpy as np
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.columns.exact_numbers import whole_number
from beam_ensembles.columns.nulls import blank, spread
from beam_ensembles.columns.timestamps import instant_of_text, is_finer, with_instants
from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import Columns, validity
from beam_ensembles.handlers.support.nested_values import nested_value
from beam_ensembles.types import NUMPY_DTYPES, Scalar, Type, dtype_of, row_shape

Convert = Callable[[Any], Any]
_DATES = (datetime.date, datetime.time)
_KINDS: Final = (
    (bool, "a truth value", "boolean"),
    (int, "a whole number", "int64"),
    (float | Decimal, "a fraction", "double"),
    (str, "a text", "string"),
    (bytes | bytearray | memoryview, "bytes", "bytes"),
    (datetime.datetime, "a date with a time", "timestamp or string"),
    (_DATES, "a date or a time of day", "string"),
)


def converter(type_: Type) -> Convert:
    """Returns the function that makes a value of a type of a database's value that is not null.

    ======================  =======================================================================
    declared                what the driver may give
    ======================  =======================================================================
    string                  text, a UUID; a date or time as ISO 8601
    bytes                   bytes
    boolean                 true, false; 1, 0 where the database has no truth values
    integers                whole numbers that fit, also as decimals
    float, double           numbers, also decimals
    timestamp               a date, which is its midnight, with or without a time; ISO 8601 text; without a zone in UTC
    arrays, maps, rows      arrays, and JSON
    ======================  =======================================================================

    The function raises ``ValueError`` for any other value.
    """
    if not isinstance(type_, Scalar):
        return lambda value: _nested(value, type_)
    dtype = NUMPY_DTYPES.get(type_.name)
    if dtype is None:
        return {"string": _text, "bytes": _bytes, "timestamp": _instant}[type_.name]
    if dtype.kind == "b":
        return _truth
    if dtype.kind == "f":
        return lambda value: _fraction(value, float(np.finfo(dtype).max))
    return lambda value: _whole(value, np.iinfo(dtype))


def kind_of(value: Any) -> str:
    """Returns what a database's value is, and as what it can be declared, as the end of a sentence."""
    for types, name, declared in _KINDS:
        if isinstance(value, types):
            return f"{name}; declare it {declared}"
    return f"a value of the type {type(value).__name__}"


def column_of(values: list[Any], type_: Type, name: str) -> Columns:
    """Creates a column of converted values, None where there is none, with its companion where that says something."""
    present = np.fromiter((value is not None for value in values), dtype=np.bool_, count=len(values))
    held = _array([value for value in values if value is not None], type_)
    if present.all():
        return {name: held}
    full = spread(held, present) if len(held) else blank(len(values), type_)
    return {name: full, validity(name): present}


def _array(values: list[Any], type_: Type) -> np.ndarray[Any, Any]:
    dtype = dtype_of(type_)
    if dtype is None:
        return np.fromiter(values, dtype=object, count=len(values))
    return np.array(values, dtype=dtype).reshape(len(values), *row_shape(type_))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, _DATES):
        return value.isoformat()
    raise ValueError


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise ValueError


def _instant(value: Any) -> Timestamp:
    try:
        found = instant_of_text(value) if isinstance(value, str) else with_instants(value)
    except ValueError:
        raise ValueError from None
    if not isinstance(found, Timestamp) or is_finer(found):
        raise ValueError
    return found


def _truth(value: Any) -> bool:
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise ValueError


def _whole(value: Any, limits: np.iinfo[Any]) -> int:
    if isinstance(value, Decimal):
        with contextlib.suppress(ValueError):  # one that is not whole stays a decimal, and is refused below
            value = whole_number(value)
    if not isinstance(value, int) or isinstance(value, bool) or not limits.min <= value <= limits.max:
        raise ValueError
    return value


def _fraction(value: Any, most: float) -> float:
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        raise ValueError
    try:
        found = float(value)
    except OverflowError:
        raise ValueError from None
    if abs(found) > most and not np.isinf(found):
        raise ValueError
    return found


def _nested(value: Any, type_: Type) -> Any:
    try:
        return nested_value(_plain(value), type_, "")
    except NodeError:
        raise ValueError from None


def _plain(value: Any) -> Any:
    """Creates of decimals, which numpy has no word for, what JSON has."""
    if isinstance(value, Decimal):
        with contextlib.suppress(ValueError):
            return whole_number(value)
        return float(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value
