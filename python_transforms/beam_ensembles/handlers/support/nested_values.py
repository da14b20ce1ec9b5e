"""One row's value of a type that numpy has no word for: lists of any length, mappings, rows.

In a column such a value is plain Python: a list, a ``dict`` for a mapping, a ``dict`` by field for a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.support.arguments import Values, cast
from beam_ensembles.types import NUMPY_DTYPES, Array, Map, Row, Scalar, Type, dtype_of, row_shape

PYTHON_TYPES: Final[dict[str, type]] = {"string": str, "bytes": bytes}


def items_of(answer: Any, name: str) -> Any:
    """Returns what a model returned as something with a length: an array for tensors, a list for everything else.

    Raises:
        NodeError: ``misaligned`` where it is a single value.
    """
    if isinstance(answer, list | tuple):
        return list(answer)
    found = answer if isinstance(answer, np.ndarray) else np.asarray(answer)
    if found.ndim == 0:
        raise NodeError("misaligned", f"'{name}': the model gave a single value; it must give one per row")
    return found


def depth_of(type_: Type) -> int:
    """Returns how many dimensions an array of a type's values has: 2 for ``array<array<float>[4]>``."""
    if isinstance(type_, Array):
        return (1 if type_.shape is None else len(type_.shape)) + depth_of(type_.element)
    return 0


def nested_value(value: Any, type_: Type, name: str) -> Any:
    """Returns one value of a model's answer as plain Python.

    Args:
        value: An array, a tensor, a list, a mapping, a text, a number.
        type_: The declared type.
        name: The column's name, for messages.

    Raises:
        NodeError: ``bad_output`` where the value is not of the type.
    """
    if value is None and type_.nullable:
        return None
    if isinstance(type_, Array):
        return _list(value, type_, name)
    if isinstance(type_, Row):
        fields = _mapping(value, type_, name)
        lacking = [field for field, _ in type_.fields if field not in fields]
        if lacking:
            raise NodeError(
                "bad_output", f"'{name}' is declared {type_}, but the model returned no '{lacking[0]}'"
            )
        return {field: nested_value(fields[field], of, name) for field, of in type_.fields}
    if isinstance(type_, Map):
        found = _mapping(value, type_, name)
        return {
            nested_value(key, type_.key, name): nested_value(of, type_.value, name)
            for key, of in found.items()
        }
    return _scalar(value, type_, name)


def _list(value: Any, type_: Array, name: str) -> list[Any]:
    dtype = dtype_of(type_) if type_.shape is not None else dtype_of(type_.element)
    if dtype is None:
        if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__len__"):
            raise _wrong(value, type_, name)
        return [nested_value(item, type_.element, name) for item in value]
    try:
        found = np.asarray(value)
    except ValueError:
        raise _wrong(value, type_, name) from None
    wanted = type_.shape if type_.shape is not None else (*found.shape[:1], *row_shape(type_.element))
    if found.ndim == 0 or (found.shape != wanted and found.shape != (0,)):
        raise _wrong(value, type_, name)
    return list(to_numbers(found, dtype, type_, name).tolist())


def _scalar(value: Any, type_: Type, name: str) -> Any:
    dtype = dtype_of(type_)
    if dtype is not None:
        found = np.asarray(value)
        if found.size != 1:
            raise _wrong(value, type_, name)
        return to_numbers(found.reshape(()), dtype, type_, name).item()
    wanted = PYTHON_TYPES.get(type_.name) if isinstance(type_, Scalar) else None
    if wanted is not None and isinstance(value, wanted):
        return wanted(value)  # numpy's own texts are subclasses
    raise _wrong(value, type_, name)


def named(values: Any) -> str:
    """Returns what is in an array, in the words of the type language: ``string values``."""
    name = {"U": "string", "T": "string", "S": "bytes", "O": "mixed", "M": "timestamp"}.get(values.dtype.kind)
    known = (name for name, dtype in NUMPY_DTYPES.items() if dtype == values.dtype)
    return f"{name or next(known, str(values.dtype))} values"


def to_numbers(found: Values, dtype: np.dtype[Any], type_: Type, name: str) -> Values:
    """Casts a model's numbers to the declared dtype.

    Args:
        found: The numbers, of any shape.
        dtype: The dtype of the declared type.
        type_: The declared type, for messages.
        name: The column's name, for messages.

    Raises:
        NodeError: ``bad_output`` where they are of another kind (a fraction is not a whole number, a truth value no
            number), or do not fit.
    """
    if found.dtype == dtype or found.size == 0:
        return found.astype(dtype, copy=False)
    numeric = found.dtype.kind in "fiu" and dtype.kind in "fiu"
    if not numeric or (found.dtype.kind == "f" and dtype.kind != "f"):
        text = f"'{name}' is declared {type_}, but the model gave {named(found)}"
        raise NodeError("bad_output", text)
    if found.dtype.kind == "f":
        return cast(found, dtype, "bad_output", name)
    values = found.astype(dtype)
    if not np.array_equal(values, found):
        raise NodeError("bad_output", f"'{name}': the model gave whole numbers that a {type_} cannot hold")
    return values


def _mapping(value: Any, type_: Type, name: str) -> Mapping[Any, Any]:
    if isinstance(value, Mapping):
        return value
    if hasattr(value, "_asdict"):
        return dict(value._asdict())
    raise _wrong(value, type_, name)


def _wrong(value: Any, type_: Type, name: str) -> NodeError:
    found = (
        f"{named(value)} of shape {list(value.shape)}" if hasattr(value, "dtype") else type(value).__name__
    )
    return NodeError("bad_output", f"'{name}' is declared {type_}, but the model gave {found}")
