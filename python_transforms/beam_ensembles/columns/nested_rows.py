"""Rows within values: a ``dict`` in a column, whatever they are in the rows of a PCollection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from beam_ensembles.types import Array, Map, Row, Type


def has_rows(type_: Type) -> bool:
    """Says whether values of a type are rows or hold some."""
    if isinstance(type_, Array):
        return has_rows(type_.element)
    return isinstance(type_, Row) or (isinstance(type_, Map) and has_rows(type_.value))


def with_dicts(value: Any, type_: Type) -> Any:
    """Gives a value with its rows as columns have them; what is none stays as it is, for who checks values."""
    if isinstance(type_, Array) and isinstance(value, list | tuple):
        return [with_dicts(item, type_.element) for item in value]
    if isinstance(type_, Map) and isinstance(value, Mapping):
        return {key: with_dicts(item, type_.value) for key, item in value.items()}
    if not isinstance(type_, Row):
        return value
    found = _items(value, type_)
    if found is None:
        return value
    return {name: with_dicts(item, of) for item, (name, of) in zip(found, type_.fields, strict=True)}


def _items(value: Any, type_: Row) -> list[Any] | None:
    """Gives a row's values in the order of its type's fields; None where it is no row of that type."""
    names = [name for name, _ in type_.fields]
    if isinstance(value, Mapping):
        return [value[name] for name in names] if set(names) <= set(value) else None
    if isinstance(value, tuple):
        return list(value) if len(value) == len(names) else None
    return [getattr(value, name) for name in names] if all(hasattr(value, name) for name in names) else None


def with_rows(value: Any, type_: Type, row: Callable[[dict[str, Any]], Any]) -> Any:
    """Gives a value of a column with its rows as a PCollection's rows hold them.

    Args:
        value: The value.
        type_: Its type.
        row: Makes a row of its fields.
    """
    if value is None or not has_rows(type_):
        return plain(value)
    if isinstance(type_, Array):
        return [with_rows(item, type_.element, row) for item in value]
    if isinstance(type_, Map):
        return {key: with_rows(item, type_.value, row) for key, item in value.items()}
    fields = type_.fields if isinstance(type_, Row) else ()
    return row({name: with_rows(value[name], of, row) for name, of in fields})


def plain(value: Any) -> Any:
    """Gives a value without numpy's arrays."""
    return value.tolist() if isinstance(value, np.ndarray) else value
