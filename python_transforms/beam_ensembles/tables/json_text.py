"""JSON's text <-> values, also for what JSON has no word for.

Bytes are base64 text and points in time are ISO 8601 text. ``NaN`` and the infinities stand as Python's ``json``
writes and reads them. A number that no double holds to its digits is read as a ``JsonNumber`` and written as it came.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import json
import math
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Self

from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.columns.timestamps import instant_of_text, text_of_instant
from beam_ensembles.types import BYTES, STRING, TIMESTAMP, Array, Map, Row, Scalar, Type, dtype_of

_MARK: Final = f"number {secrets.token_hex(16)} "
"""Begins a text that stands for a number until the whole JSON is written; no file can hold it by chance."""
_MARKED: Final = re.compile(f'"{_MARK}([-+0-9.eE]+)"')
_SHAPE: Final = str.maketrans({**dict.fromkeys("0123456789", "0"), "E": "e"})
_SHAPE_WITH_POINT: Final = _SHAPE | str.maketrans({".": "0"})
_LONG: Final = "0" * 16
"""The shape of so many digits that a double may not hold them."""
_WITH_EXPONENT: Final = ("0e0", "0e+", "0e-000", f"{_LONG}e")
"""Shapes of numbers that ``json`` may make another number of, for whatever type reads them."""
_NEGATIVE_ZERO: Final = re.compile(r"-0(?![0-9.])")
_DIGITS_OF_DOUBLES: Final = 15
_SMALLEST: Final = sys.float_info.min
_EVERY_WHOLE: Final = 2**53
"""Up to here a double holds every whole number."""


class JsonNumber(Decimal):
    """A number of a JSON text that no double holds to its digits.

    Attributes:
        text: The number as the JSON text has it.
    """

    text: str

    def __new__(cls, text: str) -> Self:
        found = super().__new__(cls, text)
        found.text = text
        return found

    def __repr__(self) -> str:
        return self.text


def _float(text: str) -> float | JsonNumber:
    value = float(text)
    if repr(value) == text or (len(text) <= _DIGITS_OF_DOUBLES and _SMALLEST <= abs(value) < math.inf):
        return value
    if abs(value) < _EVERY_WHOLE and f"{value:.17g}" == text:
        return value
    try:
        exact = JsonNumber(text)
    except InvalidOperation:
        raise ValueError(text) from None
    return value if _is_double(exact, value) else exact


def _is_double(exact: Decimal, value: float) -> bool:
    """Whether a number is what a program prints of a double, with however many digits of a fraction."""
    if exact == Decimal(repr(value)):
        return True
    if not value or abs(value) >= _EVERY_WHOLE:
        return False
    return Decimal(f"{value:.{len(exact.as_tuple().digits) - 1}e}") == exact


def _int(text: str) -> int | float:
    return -0.0 if text == "-0" else int(text)


class Parser:
    """Parses JSON without changing the numbers in it.

    Looking at each number takes three times as long, so it is done only where one has a shape that may need it.

    Args:
        pairs: Makes an object of its names and values.
        exact: Whether a number that no double holds to its digits is needed as a ``JsonNumber``, rather than as the
            nearest double.
    """

    def __init__(
        self, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None, *, exact: bool = True
    ) -> None:
        self._exact = exact
        self._plain = json.JSONDecoder(object_pairs_hook=pairs).decode
        self._careful = json.JSONDecoder(object_pairs_hook=pairs, parse_float=_float, parse_int=_int).decode

    def __call__(self, text: str) -> Any:
        """Returns the value of a text.

        Raises:
            ValueError: It is not JSON, or a number has more digits than Python reads.
            RecursionError: It is nested too deep.
        """
        return (self._careful if self._needs_care(text) else self._plain)(text)

    def _needs_care(self, text: str) -> bool:
        shape = text.translate(_SHAPE)
        if "0e" in shape and any(one in shape for one in _WITH_EXPONENT):
            return True
        if f"{_LONG}." in shape or _NEGATIVE_ZERO.search(text):
            return True
        return self._exact and _LONG in text.translate(_SHAPE_WITH_POINT)


def _stand_in(value: Any) -> Any:
    if isinstance(value, JsonNumber):
        return _MARK + value.text
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Timestamp):
        with contextlib.suppress(OverflowError):  # Python's own end with the year 9999
            return text_of_instant(value)
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        return value.tolist()
    return str(value)


_encoded: Final = json.JSONEncoder(ensure_ascii=False, default=_stand_in).encode


def _with_text_keys(value: Any) -> Any:
    """Returns a value whose mappings have keys that JSON takes: bytes, points in time and so on become text."""
    if isinstance(value, Mapping):
        return {_key(key): _with_text_keys(item) for key, item in value.items()}
    return list(map(_with_text_keys, value)) if isinstance(value, list | tuple) else value


def _key(key: Any) -> Any:
    if key is None or isinstance(key, str | int | float):
        return key
    return text_in_json(key)


def text_in_json(value: Any) -> str:
    """Returns a value's JSON as text, without quotes where that is a JSON string."""
    text = to_json(value)
    return str(json.loads(text)) if text.startswith('"') else text


def to_json(value: Any) -> str:
    """Returns a value's JSON on one line; decimals and whatever else JSON lacks become text."""
    try:
        text = _encoded(value)
    except TypeError:
        text = _encoded(_with_text_keys(value))
    return _MARKED.sub(r"\1", text) if _MARK in text else text


_PLAIN: Final = Parser()
_NANOS: Final = re.compile(r"[.,]\d{7}")


def values_from_json(values: list[Any], type_: Type) -> list[Any]:
    """Returns a column of values parsed from JSON as the type declares it; see ``from_json``."""
    return [from_json(value, type_) for value in values] if _is_text_in_json(type_) else values


def from_json(value: Any, type_: Type) -> Any:
    """Returns a value parsed from JSON as the type declares it; one that is not so stays as it is."""
    if not _is_text_in_json(type_):
        return value
    if isinstance(type_, Array) and isinstance(value, list):
        return [from_json(item, type_.element) for item in value]
    if isinstance(type_, Map) and isinstance(value, Mapping):
        return {_key_from_json(key, type_.key): from_json(item, type_.value) for key, item in value.items()}
    if isinstance(type_, Row) and isinstance(value, Mapping):
        types = dict(type_.fields)
        return {key: from_json(item, types[key]) if key in types else item for key, item in value.items()}
    with contextlib.suppress(ValueError):
        if type_.required() == BYTES and isinstance(value, str):
            return base64.b64decode(value, validate=True)
        if type_.required() == TIMESTAMP and isinstance(value, str):
            return instant_of_text(value) if _has_nanos(value) else datetime.datetime.fromisoformat(value)
    return value


def _has_nanos(text: str) -> bool:
    """Whether a text may name a point in time that Python's own would cut to microseconds."""
    return _NANOS.search(text) is not None


def _key_from_json(key: Any, type_: Type) -> Any:
    """Returns the key of a map, which is text in JSON whatever its type is."""
    dtype = dtype_of(type_)
    if dtype is None or not isinstance(key, str):
        return from_json(key, type_)
    with contextlib.suppress(ValueError):
        value = _PLAIN(key)
        if not isinstance(value, str) and to_json(value) == key:
            return value
    return key


def _is_text_in_json(type_: Type) -> bool:
    """Returns whether a type holds something that is text in JSON and no text in a row."""
    if isinstance(type_, Scalar):
        return type_.required() in (BYTES, TIMESTAMP)
    if isinstance(type_, Array):
        return _is_text_in_json(type_.element)
    if isinstance(type_, Map):
        return type_.key.required() != STRING or _is_text_in_json(type_.value)
    return isinstance(type_, Row) and any(_is_text_in_json(field) for _, field in type_.fields)
