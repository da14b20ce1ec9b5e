"""The members of a combiner: what types they have in common, and on which rows each has a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from beam_ensembles.columns.exact_numbers import are_beyond_float
from beam_ensembles.combiners.options import QuorumOptions
from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView, valid_rows
from beam_ensembles.types import NUMPY_DTYPES, Array, Scalar, Type, dtype_of, row_shape

Values = np.ndarray[Any, Any]


def common_numbers(node: NodeView) -> Type | None:
    """Returns the type that holds the values of all members; reports those that are no numbers, or of another shape.

    Returns:
        A number or a tensor of numbers; None where it is not known.
    """
    found: Type | None = None
    for index, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        if type_ is None:
            continue
        dtype, place = dtype_of(type_), f"inputs[{index}]"
        if dtype is None or dtype.kind not in "fiu":
            text = f"'{column}' is {type_}; {node.spec.target} takes numbers or tensors"
            node.problem("type_mismatch", place, text)
        elif found is not None and row_shape(type_) != row_shape(found):
            node.problem(
                "type_mismatch", place, f"'{column}' is {type_}, the members before it are like {found}"
            )
        else:
            found = type_ if found is None else wider(found, type_)
    return found


def wider(one: Type, other: Type) -> Type:
    """Returns the type that holds the numbers of two types of one shape: of an int64 and a float a double."""
    dtypes = [dtype for dtype in (dtype_of(one), dtype_of(other)) if dtype is not None]
    return numbers_of(np.result_type(*dtypes), row_shape(one))


def numbers_of(dtype: np.dtype, shape: tuple[int, ...]) -> Type:
    """Returns the type of numbers of a dtype, of which a row has a tensor of a shape, or one where that is ``()``."""
    element = Scalar(next(name for name, known in NUMPY_DTYPES.items() if known == dtype))
    return Array(element, shape) if shape else element


def check_exact(values: Values, taken: Values, dtype: np.dtype, name: str) -> None:
    """Checks that whole numbers stay what they are where other members make the answer a float.

    Args:
        values: A member's values, ``[N, ...]``.
        taken: Of which rows they count, ``[N]``.
        dtype: The dtype of the answer.
        name: The member's column, for messages.

    Raises:
        NodeError: ``wrong_value``: one is too large to be exact.
    """
    if dtype.kind == "f" and values.dtype.itemsize == 8 and are_beyond_float(values[taken]):
        text = f"'{name}' is beyond 2^53, and the answer is floating point, as other members are"
        raise NodeError(
            "wrong_value", f"{text}; CAST it to a DOUBLE in a 'sql' node, which rounds it, or make all int64"
        )


def has_quorum(node: CheckedNode[QuorumOptions]) -> bool:
    """Returns whether a checked node goes on without some of its members."""
    return node.options.quorum is not None


def presence(columns: Columns, members: Sequence[str]) -> Values:
    """Returns which members have a value on which rows, ``[members, N]``."""
    return np.stack([valid_rows(columns, name) for name in members])


def beside(mask: Values, values: Values) -> Values:
    """Returns what there is one of a row, ``[N]``, the dimensions that it needs beside values ``[N, ...]``."""
    return mask.reshape(mask.shape + (1,) * (values.ndim - mask.ndim))


def average(values: Sequence[Values], weights: Sequence[float] | None, present: Values) -> Values:
    """Averages over the members that have a value, row by row, whose weights alone count.

    Args:
        values: The values of each member, ``[N, ...]`` of one shape.
        weights: A weight each, or None where all count the same.
        present: Which members have a value on which rows, ``[members, N]``; on each row one of weight.

    Returns:
        The averages, ``[N, ...]``: in single precision where all are of it and there are no weights.
    """
    dtype = np.result_type(*values) if weights is None else np.dtype(np.float64)
    dtype = np.result_type(dtype, np.float32) if dtype.kind == "f" else np.dtype(np.float64)
    total = np.zeros(values[0].shape, dtype)
    whole = np.zeros(len(values[0]), dtype)
    for at, member in enumerate(values):
        weight = 1.0 if weights is None else weights[at]
        total += np.where(beside(present[at], member), member, 0) * dtype.type(weight)
        whole += present[at] * dtype.type(weight)
    return np.asarray(total / beside(whole, total))
