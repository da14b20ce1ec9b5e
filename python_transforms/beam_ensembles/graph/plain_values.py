"""Whether a plain value of a file is a value of a type of the language."""

from __future__ import annotations

from typing import Any

import numpy as np

from beam_ensembles.types import NUMPY_DTYPES, Array, Map, Row, Scalar, Type, width_of


def is_value_of(value: Any, type_: Type) -> bool:
    """Returns whether a value, as YAML or JSON gives it, may stand in a column.

    A tensor's numbers may be nested or in one list, row by row. Bytes and points in time cannot be written in a file.
    """
    if value is None:
        return type_.nullable
    if isinstance(type_, Scalar):
        return _is_scalar(value, type_.name)
    if isinstance(type_, Array):
        return _is_array(value, type_)
    if isinstance(type_, Map):
        return isinstance(value, dict) and all(
            is_value_of(key, type_.key) and is_value_of(item, type_.value) for key, item in value.items()
        )
    if not isinstance(type_, Row) or not isinstance(value, dict):
        return False
    return set(value) == {name for name, _ in type_.fields} and all(
        is_value_of(value[name], field) for name, field in type_.fields
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_scalar(value: Any, name: str) -> bool:
    dtype = NUMPY_DTYPES.get(name)
    if dtype is None:
        return name == "string" and isinstance(value, str)
    if dtype.kind == "b":
        return isinstance(value, bool)
    if dtype.kind == "f":
        return isinstance(value, float) or _is_whole(value)
    limits = np.iinfo(dtype)
    return _is_whole(value) and limits.min <= value <= limits.max


def _is_array(value: Any, type_: Array) -> bool:
    if not isinstance(value, list):
        return False
    if type_.shape is None:
        return all(is_value_of(item, type_.element) for item in value)
    if len(value) == width_of(type_) and all(is_value_of(item, type_.element) for item in value):
        return True
    inner = type_.element if len(type_.shape) == 1 else Array(type_.element, type_.shape[1:])
    return len(value) == type_.shape[0] and all(is_value_of(item, inner) for item in value)
