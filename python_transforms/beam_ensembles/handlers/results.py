"""A model's answer -> the declared output column: as many items as rows, the declared shape and dtype."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.arguments import Values, cast, shape_text
from beam_ensembles.types import Array, Scalar, Type, dtype_of, row_shape

_PYTHON: Final[dict[str, type]] = {"string": str, "bytes": bytes}


def to_column(answer: Any, type_: Type, rows: int, name: str) -> Values:
    """Makes an output column of a model's answer.

    Args:
        answer: What the model gave for the column: an array, or what numpy makes one of.
        type_: The column's type.
        rows: How many rows the model was given.
        name: The column's name, for messages.

    Returns:
        The column: numbers with the type's dtype and shape ``[N, ...]``, everything else as objects.

    Raises:
        NodeError: ``misaligned`` where there are not as many items as rows; ``bad_output`` where shape or
            values are not those of the type.
    """
    found = _array(answer, name)
    if found.ndim == 0 or len(found) != rows:
        given = "a single value" if found.ndim == 0 else f"{len(found)} items"
        raise NodeError(
            "misaligned", f"'{name}': the model gave {given} for {rows} rows; it must give one a row"
        )
    dtype = dtype_of(type_)
    if dtype is not None:
        return _cast(_shaped(found, row_shape(type_), type_, name), dtype, type_, name)
    if isinstance(type_, Scalar):
        return _texts(_shaped(found, (), type_, name), type_, name)
    return _lists(found, type_, name)


def _array(answer: Any, name: str) -> Values:
    if hasattr(answer, "toarray"):  # scipy's sparse matrices, from a scikit-learn transform
        answer = answer.toarray()
    try:
        return np.asarray(answer)
    except ValueError as exc:
        raise NodeError("bad_output", f"'{name}': the model's answer is no array: {exc}") from exc


def _shaped(found: Values, shape: tuple[int, ...], type_: Type, name: str) -> Values:
    if found.shape[1:] == shape:
        return found
    if shape == () and found.shape[1:] == (1,):
        return found.reshape(len(found))
    shown = shape_text((None, *found.shape[1:]))
    raise NodeError(
        "bad_output", f"'{name}' is declared {type_}, but the model gave an array of shape {shown}"
    )


def _cast(found: Values, dtype: np.dtype[Any], type_: Type, name: str) -> Values:
    if found.dtype == dtype:
        return found
    if (
        found.dtype.kind not in "fiu"
        or dtype.kind not in "fiu"
        or (found.dtype.kind == "f" and dtype.kind != "f")
    ):
        raise NodeError(
            "bad_output", f"'{name}' is declared {type_}, but the model gave {found.dtype} values"
        )
    values = cast(found, dtype, "bad_output", name)
    if found.dtype.kind != "f" and not np.array_equal(values, found):
        raise NodeError("bad_output", f"'{name}': the model gave whole numbers that a {type_} cannot hold")
    return values


def _texts(found: Values, type_: Scalar, name: str) -> Values:
    objects = found.astype(object)
    wanted = _PYTHON.get(type_.name)
    if wanted is None or not set(map(type, objects.tolist())) <= {wanted}:
        raise NodeError(
            "bad_output", f"'{name}' is declared {type_}, but the model gave {found.dtype} values"
        )
    return objects


def _lists(found: Values, type_: Type, name: str) -> Values:
    """Gives an object array with one list a row, for an array of no fixed length."""
    if not isinstance(type_, Array) or found.ndim < 2:
        shown = shape_text((None, *found.shape[1:]))
        raise NodeError(
            "bad_output", f"'{name}' is declared {type_}, but the model gave an array of shape {shown}"
        )
    flat = to_column(found.reshape(-1), type_.element, found.size, name) if found.ndim == 2 else found
    lists = flat.reshape(found.shape).tolist()
    return np.fromiter(lists, dtype=object, count=len(found))
