"""A model's answer -> the declared output columns: as many items as rows, the declared shapes and dtypes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.graph.shared_options import is_per_row, samples_of
from beam_ensembles.handlers.support.arguments import Values, shape_text
from beam_ensembles.handlers.support.nested_values import (
    PYTHON_TYPES,
    depth_of,
    items_of,
    named,
    nested_value,
    to_numbers,
)
from beam_ensembles.types import Array, Scalar, Type, dtype_of, row_shape


def to_columns(node: CheckedNode, answers: Mapping[str, Any], rows: int) -> Columns:
    """Creates a node's output columns of what its model gave.

    Args:
        node: The node; its ``samples`` and ``per_row`` say how many items the answers hold.
        answers: For each output column the model's answer: an array or a tensor, or a list of one value per row.
        rows: How many rows the model was given; 1 where it is called ``per_row``.

    Returns:
        The columns, as ``to_column`` makes them. A model that squeezes gives a batch of one without its first
        dimension: such an answer is taken where it has exactly the shape of one row's value.

    Raises:
        NodeError: ``misaligned`` where the number of items is not that of the rows (times ``samples``); ``bad_output``
            where shape or values are not those of the declared type.
    """
    samples, per_row = samples_of(node.options), is_per_row(node.options)
    columns = {}
    for name, type_ in node.outputs.items():
        answer = answers[name]
        if per_row:
            answer = [_of_one_row(answer, type_)]
        elif samples is not None:
            answer = _regrouped(answer, rows, samples, name)
        elif rows == 1 and node.spec.kind == "model":
            answer = batch_of_one(answer, type_)
        columns[name] = to_column(answer, type_, rows, name)
    return columns


def to_columns_of_one(node: CheckedNode, answer: Any, rows: int) -> Columns:
    """Creates the output columns of a model whose whole answer is what every one of them takes (``to_columns``)."""
    return to_columns(node, dict.fromkeys(node.outputs, answer), rows)


def batch_of_one(answer: Any, type_: Type) -> Any:
    """Returns a model's answer to its only row with the first dimension that a squeeze has taken from it.

    Several answers are never taken for one: the array must have exactly the declared shape of one row's value. Where
    the declared type leaves the length open, the array must have as many dimensions as one value has.

    Args:
        answer: What the model gave for one row.
        type_: The declared type.

    Returns:
        An array ``[1, ...]``, or the answer itself where it is anything else than one value without that dimension.
    """
    if isinstance(answer, str):
        return np.array([str(answer)], dtype=object)  # numpy's own texts drop the zeros at their end
    if isinstance(answer, bytes):
        return np.array([bytes(answer)], dtype=object)
    found = _as_array(answer)
    if found is None:
        return answer
    if found.dtype == object:  # texts, or what no array is made of: lists, mappings, sparse matrices
        is_one = found.shape == () and isinstance(type_, Scalar) and isinstance(found.item(), str | bytes)
    elif dtype_of(type_) is not None or isinstance(type_, Scalar):
        is_one = found.shape == row_shape(type_)
    else:
        is_one = isinstance(type_, Array) and hasattr(answer, "shape") and found.ndim == depth_of(type_)
    return found[np.newaxis] if is_one else answer


def _of_one_row(answer: Any, type_: Type) -> Any:
    """Returns the value of the only row: the answer itself, or its only item where the model gave it a leading 1."""
    array = _as_array(answer)
    if array is None:
        return answer
    if dtype_of(type_) is not None:
        shape = row_shape(type_)
        return array.reshape(shape) if array.size == math.prod(shape) else array
    wanted = depth_of(type_)
    if array.ndim == wanted + 1 and array.shape[0] == 1:
        return array[0]
    return array[..., 0] if array.ndim == wanted + 1 and array.shape[-1] == 1 else array


def _as_array(answer: Any) -> Values | None:
    """Returns an answer of numbers as an array; None where it is a list of things of different sizes, or of objects."""
    if isinstance(answer, list | tuple) and not all(
        np.isscalar(item) or hasattr(item, "shape") for item in answer
    ):
        return None
    try:
        return np.asarray(answer)
    except ValueError:
        return None


def _regrouped(answer: Any, rows: int, samples: int, name: str) -> Any:
    """Puts the ``samples`` items of each row together; the model gives them row after row."""
    items = items_of(answer, name)
    if len(items) != rows * samples:
        raise NodeError(
            "misaligned",
            f"'{name}': the model gave {len(items)} items for {rows} rows; with 'samples: {samples}' it must give "
            f"{samples} a row",
        )
    if isinstance(items, np.ndarray):
        return items.reshape(rows, samples, *items.shape[1:])
    return [items[at : at + samples] for at in range(0, len(items), samples)]


def to_column(answer: Any, type_: Type, rows: int, name: str) -> Values:
    """Creates an output column of a model's answer of one item per row.

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
    dtype = dtype_of(type_)
    if dtype is None and not isinstance(type_, Scalar):
        return _objects(answer, type_, rows, name)
    found = _array(answer, name)
    if found.ndim == 0 or len(found) != rows:
        raise _misaligned("a single value" if found.ndim == 0 else f"{len(found)} items", rows, name)
    shaped = _shaped(found, row_shape(type_), type_, name)
    return _texts(shaped, type_, name) if dtype is None else to_numbers(shaped, dtype, type_, name)


def _misaligned(given: str, rows: int, name: str) -> NodeError:
    return NodeError(
        "misaligned", f"'{name}': the model gave {given} for {rows} rows; it must give one per row"
    )


def _array(answer: Any, name: str) -> Values:
    if hasattr(answer, "toarray"):  # scipy's sparse matrices, from a scikit-learn transform
        answer = answer.toarray()
    try:
        return np.asarray(answer)
    except ValueError as exc:
        raise NodeError("bad_output", f"'{name}': the model's answer is not an array: {exc}") from exc


def _shaped(found: Values, shape: tuple[int, ...], type_: Type, name: str) -> Values:
    if found.shape[1:] == shape:
        return found
    if shape == () and found.shape[1:] == (1,):
        return found.reshape(len(found))
    shown = shape_text((None, *found.shape[1:]))
    raise NodeError(
        "bad_output", f"'{name}' is declared {type_}, but the model gave an array of shape {shown}"
    )


def _texts(found: Values, type_: Type, name: str) -> Values:
    objects = found.astype(object)
    wanted = PYTHON_TYPES.get(getattr(type_, "name", ""))
    if wanted is None or not set(map(type, objects.tolist())) <= {wanted}:
        raise NodeError("bad_output", f"'{name}' is declared {type_}, but the model gave {named(found)}")
    return objects


def _objects(answer: Any, type_: Type, rows: int, name: str) -> Values:
    """Returns an array with an object per row: lists of any length, mappings, rows."""
    items = items_of(answer, name)
    if len(items) != rows:
        raise _misaligned(f"{len(items)} items", rows, name)
    return np.fromiter((nested_value(item, type_, name) for item in items), dtype=object, count=rows)
