"""The scores that ``argmax`` and ``top_k`` put in order: which columns hold some, which rows have none."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.functions.inputs import is_number, one_column, wrong_input
from beam_ensembles.graph.class_meanings import PLACES, SCORES, Meaning
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.types import Array, Type, dtype_of

Values = np.ndarray[Any, Any]


def check_scores(node: NodeView) -> Array | None:
    """Returns the type of a node's only column, which must hold a row's scores; reports what is wrong with it."""
    type_ = one_column(node, "a row's scores", "scores")
    if type_ is None:
        return None
    if not isinstance(type_, Array) or not is_number(type_.element):
        wrong_input(node, 0, "a row's scores, such as array<float> or array<double>[10]")
        return None
    return type_


def places_of(node: NodeView) -> Meaning | None:
    """Returns what positions among the scores of a node's only column mean, where that is known."""
    given = node.meanings.get(node.spec.columns[0]) if node.spec.columns else None
    if given is None or given.holds not in (SCORES, ""):
        return None
    return dataclasses.replace(given, holds=PLACES, refused="")


def dtype_of_scores(type_: Type) -> np.dtype[Any]:
    """Returns the dtype of the scores of a column that was checked."""
    found = dtype_of(type_.element) if isinstance(type_, Array) else None
    return found if found is not None else np.dtype(np.float64)


def scores_of(row: Any, dtype: np.dtype[Any], column: str) -> Values:
    """Returns the scores of one row of a column of lists, ``[n]``.

    Raises:
        NodeError: ``wrong_value`` where there are none, or one is not a number (NaN).
    """
    found = np.asarray(row, dtype=dtype)
    if found.size == 0:
        raise NodeError("wrong_value", f"'{column}' holds no scores")
    if found.dtype.kind == "f" and bool(np.isnan(found).any()):
        raise _not_a_number(column)
    return found


def split_tensor(values: Values, column: str) -> tuple[Values, dict[int, NodeError]]:
    """Parts the rows of a column of tensors, ``[N, ..., n]``, from those with a score that is not a number (NaN)."""
    if values.dtype.kind != "f":
        return values, {}
    bad = np.isnan(values).any(axis=tuple(range(1, values.ndim)))
    if not bad.any():
        return values, {}
    return values[~bad], {int(at): _not_a_number(column) for at in np.flatnonzero(bad)}


def _not_a_number(column: str) -> NodeError:
    return NodeError(
        "wrong_value", f"'{column}' holds a score that is not a number (NaN), so none is the greatest"
    )
