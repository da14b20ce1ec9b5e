"""JSON's text <-> values, also for what JSON has no word for.

Bytes are base64 text and points in time are ISO 8601 text. ``NaN`` and the infinities stand as Python's ``json``
writes and reads them.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import json
from collections.abc import Mapping
from typing import Any, Final

from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.types import BYTES, TIMESTAMP, Array, Map, Row, Scalar, Type


def _stand_in(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Timestamp):
        with contextlib.suppress(OverflowError):  # Python's own end with the year 9999
            return value.to_utc_datetime(has_tz=True).isoformat()
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return value.tolist()
    return str(value)


to_json: Final = json.JSONEncoder(ensure_ascii=False, default=_stand_in).encode
"""Gives a value's JSON on one line; decimals and whatever else JSON lacks become text."""


def values_from_json(values: list[Any], type_: Type) -> list[Any]:
    """Gives a column of values parsed from JSON as the type declares it; see ``from_json``."""
    return [from_json(value, type_) for value in values] if _is_text_in_json(type_) else values


def from_json(value: Any, type_: Type) -> Any:
    """Gives a value parsed from JSON as the type declares it; one that is not so stays as it is."""
    if not _is_text_in_json(type_):
        return value
    if isinstance(type_, Array) and isinstance(value, list):
        return [from_json(item, type_.element) for item in value]
    if isinstance(type_, Map) and isinstance(value, Mapping):
        return {key: from_json(item, type_.value) for key, item in value.items()}
    if isinstance(type_, Row) and isinstance(value, Mapping):
        types = dict(type_.fields)
        return {key: from_json(item, types[key]) if key in types else item for key, item in value.items()}
    with contextlib.suppress(ValueError):
        if type_.required() == BYTES and isinstance(value, str):
            return base64.b64decode(value, validate=True)
        if type_.required() == TIMESTAMP and isinstance(value, str):
            return datetime.datetime.fromisoformat(value)
    return value


def _is_text_in_json(type_: Type) -> bool:
    """Says whether a type holds something that is text in JSON and no text in a row."""
    if isinstance(type_, Scalar):
        return type_.required() in (BYTES, TIMESTAMP)
    if isinstance(type_, Array):
        return _is_text_in_json(type_.element)
    if isinstance(type_, Map):
        return _is_text_in_json(type_.value)
    return isinstance(type_, Row) and any(_is_text_in_json(field) for _, field in type_.fields)
