"""Points in time: Beam's ``Timestamp`` in columns and rows, whatever files and databases have."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.types import Array, Map, Row, Scalar, Type

_MICROS: Final = Timestamp.MICROS_PRECISION
_NANOS: Final = Timestamp.NANOS_PRECISION
_MOST: Final = 2**63 - 1
"""The most microseconds that a column may hold, before or after 1970."""
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_FRACTION: Final = re.compile(r"[.,](\d{6})(\d{1,3})0*(?=$|[Zz+-])")
"""Digits of a second below a microsecond, which Python's own points in time leave out."""


def instant_of(value: datetime.datetime) -> Timestamp:
    """Returns Python's point in time as Beam's; one without a zone is UTC."""
    aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    return Timestamp(micros=(aware - _EPOCH) // _MICROSECOND)


def instant_of_text(text: str) -> Timestamp:
    """Returns the point in time that a text names in RFC 3339, with its nanoseconds; one without an offset is UTC.

    Raises:
        ValueError: The text is none, or has more digits than nanoseconds.
    """
    found = instant_of(datetime.datetime.fromisoformat(text))
    fraction = _FRACTION.search(text)
    if fraction is None:
        if re.search(r"[.,]\d{7}", text):
            raise ValueError(text)
        return found
    rest = int(fraction[2].ljust(3, "0"))
    return Timestamp(0, 1_000 * found.micros + rest, _NANOS) if rest else found


def text_of_instant(value: Timestamp) -> str:
    """Returns a point in time in RFC 3339, with nine digits below the second where it has nanoseconds.

    Raises:
        OverflowError: Its year is not one of 1 to 9999, which Python knows.
    """
    whole = truncated(value).to_utc_datetime(has_tz=True)
    if not is_finer(value):
        return str(whole.isoformat())
    text = whole.isoformat(timespec="microseconds")
    end = text.index(".") + 7
    return f"{text[:end]}{value.nanos % 1_000:03}{text[end:]}"


def whole_micros(values: Iterable[Timestamp]) -> list[Timestamp] | None:
    """Returns points in time as columns have them; None where one is finer than that, or farther away."""
    found = []
    for value in values:
        if value.precision() != _MICROS:
            if is_finer(value):
                return None
            value = value.to_precision(_MICROS)
        if not -_MOST <= value.micros <= _MOST:
            return None
        found.append(value)
    return found


def is_finer(value: Any) -> bool:
    """Whether a value is a point in time that has nanoseconds below its microseconds."""
    return isinstance(value, Timestamp) and value.precision() > _MICROS and value.nanos % 1_000 != 0


def truncated(value: Any) -> Any:
    """Returns a value whose points in time have no nanoseconds, also those within lists, rows and mappings."""
    if isinstance(value, Timestamp):
        if value.precision() <= _MICROS:
            return value
        return value.to_precision(_MICROS, allow_lossy_conversion=True)
    if isinstance(value, list):
        return [truncated(item) for item in value]
    if isinstance(value, tuple):
        made = [truncated(item) for item in value]
        return value._make(made) if hasattr(value, "_make") else tuple(made)
    if isinstance(value, Mapping):
        return {truncated(key): truncated(item) for key, item in value.items()}
    return value


def with_instants(value: Any) -> Any:
    """Returns a value with Beam's points in time for Python's, also those in its lists and mappings.

    A date is its midnight in UTC; pandas's NaT, a ``datetime`` that does not equal itself, is None.
    """
    if isinstance(value, datetime.datetime):
        return instant_of(value) if value == value else None
    if isinstance(value, datetime.date):
        return instant_of(datetime.datetime.combine(value, datetime.time()))
    if isinstance(value, list | tuple):
        return [with_instants(item) for item in value]
    if isinstance(value, Mapping):
        return {with_instants(key): with_instants(item) for key, item in value.items()}
    return value


def as_micros(value: Any, type_: Type) -> Any:
    """Returns a value as Arrow takes it: points in time as microseconds, also those within it."""
    if value is None:
        return None
    if isinstance(type_, Array):
        return [as_micros(item, type_.element) for item in value]
    if isinstance(type_, Map):
        return [(as_micros(key, type_.key), as_micros(item, type_.value)) for key, item in value.items()]
    if isinstance(type_, Row):
        return {name: as_micros(value[name], of) for name, of in type_.fields}
    return value.micros if isinstance(type_, Scalar) and type_.name == "timestamp" else value
