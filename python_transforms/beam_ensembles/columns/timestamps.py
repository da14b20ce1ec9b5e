"""Points in time: Beam's ``Timestamp`` in columns and rows, whatever files and databases have."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.types import Array, Map, Row, Scalar, Type


def has_instants(type_: Type) -> bool:
    """Returns whether values of a type are points in time or hold some."""
    if isinstance(type_, Array):
        return has_instants(type_.element)
    if isinstance(type_, Map):
        return has_instants(type_.key) or has_instants(type_.value)
    if isinstance(type_, Row):
        return any(has_instants(field) for _, field in type_.fields)
    return isinstance(type_, Scalar) and type_.name == "timestamp"


def instant_of(value: datetime.datetime) -> Timestamp:
    """Returns Python's point in time as Beam's; one without a zone is UTC."""
    aware = value if value.tzinfo is not None else value.replace(tzinfo=datetime.UTC)
    return Timestamp.from_utc_datetime(aware.astimezone(datetime.UTC))


def with_instants(value: Any) -> Any:
    """Returns a value with Beam's points in time for Python's, also those in its lists and mappings."""
    if isinstance(value, datetime.datetime):
        return instant_of(value)
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
