"""Rows and tensors within values: ``dict``s and nested lists in a column, rows and flat lists in a PCollection."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from beam_ensembles.types import Array, Map, Row, Type


def has_rows(type_: Type) -> bool:
    """Returns whether values of a type are rows or hold some."""
    if isinstance(type_, Array):
        return has_rows(type_.element)
    return isinstance(type_, Row) or (isinstance(type_, Map) and has_rows(type_.value))


def with_dicts(value: Any, type_: Type) -> Any:
    """Returns a value with its rows as columns have them; what is none stays as it is, for who checks values."""
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
    """Returns a row's values in the order of its type's fields; None where it is not a row of that type.

    A mapping need not have a field that may be null.
    """
    names = [name for name, _ in type_.fields]
    if isinstance(value, Mapping):
        has_all = all(name in value or of.nullable for name, of in type_.fields)
        return [value.get(name) for name in names] if has_all else None
    if isinstance(value, tuple):
        return items_in_order(value, names)
    return [getattr(value, name) for name in names] if all(hasattr(value, name) for name in names) else None


def items_in_order(row: tuple[Any, ...], names: Sequence[str]) -> list[Any] | None:
    """Returns a tuple's items in the order of some names, and as they are where the tuple has no names of its own.

    Args:
        row: A tuple, named or not.
        names: Names of the fields.

    Returns:
        One item a name; None where the tuple has another number of items, or other names.
    """
    if len(row) != len(names):
        return None
    own = names_of(type(row))
    if own is None:
        return list(row)
    items = dict(zip(own, row, strict=True))
    return [items[name] for name in names] if items.keys() == set(names) else None


@functools.lru_cache(maxsize=1024)
def names_of(cls: type) -> tuple[str, ...] | None:
    """Returns the names of the fields of a class of tuples; None where its fields are known by position only.

    Args:
        cls: What ``beam_repairs.row_coder`` made, a named tuple of anybody's, or ``tuple``.
    """
    if (own := getattr(cls, "__row_names__", None)) is not None:
        return tuple(own)
    names: tuple[str, ...] = getattr(cls, "_fields", ())
    return None if names == tuple(f"f{at}" for at in range(len(names))) else names


def with_rows(value: Any, type_: Type, row: Callable[[dict[str, Any]], Any]) -> Any:
    """Returns a value of a column with its rows as a PCollection's rows hold them.

    Args:
        value: The value.
        type_: Its type.
        row: Makes a row of its fields.
    """
    if value is None or not has_rows(type_):
        return flattened(value, type_)
    if isinstance(type_, Array):
        return [with_rows(item, type_.element, row) for item in value]
    if isinstance(type_, Map):
        return {key: with_rows(item, type_.value, row) for key, item in value.items()}
    fields = type_.fields if isinstance(type_, Row) else ()
    return row({name: with_rows(value[name], of, row) for name, of in fields})


def has_tensors(type_: Type) -> bool:
    """Returns whether values of a type hold tensors of several dimensions, which rows hold row by row in one list."""
    if isinstance(type_, Array):
        return (type_.shape is not None and len(type_.shape) > 1) or has_tensors(type_.element)
    if isinstance(type_, Row):
        return any(has_tensors(of) for _, of in type_.fields)
    return isinstance(type_, Map) and has_tensors(type_.value)


def flattened(value: Any, type_: Type) -> Any:
    """Returns a value of a column as rows hold it: without numpy's arrays, the numbers of a tensor in one list."""
    if value is None or not has_tensors(type_):
        return plain(value)
    if isinstance(type_, Row):
        return {name: flattened(value[name], of) for name, of in type_.fields}
    if isinstance(type_, Map):
        return {key: flattened(item, type_.value) for key, item in value.items()}
    if isinstance(type_, Array) and type_.shape is None:
        return [flattened(item, type_.element) for item in value]
    return np.asarray(value).reshape(-1).tolist()


def plain(value: Any) -> Any:
    """Returns a value without numpy's arrays."""
    return value.tolist() if isinstance(value, np.ndarray) else value
