"""``nulls: missing``: a null is given to a model as what its framework takes as a missing value.

Numbers become floating point where one may be null, whatever a batch holds, as a pandas column with a missing value
is; a null is NaN there. Texts are objects, and a null is None, or what the kind of model takes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from beam_ensembles.columns.exact_numbers import are_beyond_float
from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView, O_co, takes_missing, valid_rows
from beam_ensembles.types import DOUBLE, Array, Type, dtype_of


def given(type_: Type) -> Type:
    """Returns the type of what a model is given for a column of a type whose nulls are missing values."""
    if not type_.nullable:
        return type_
    element = type_.element if isinstance(type_, Array) and type_.shape is not None else type_
    dtype = dtype_of(element)
    if dtype is None or dtype.kind == "f":
        return type_.required()
    return Array(DOUBLE, type_.shape) if isinstance(type_, Array) else DOUBLE


def view_of(node: NodeView[O_co]) -> NodeView[O_co]:
    """Returns a node as its model sees it: with the types of what it is given for nullable columns."""
    if not takes_missing(node.options):
        return node
    types = {column: None if type_ is None else given(type_) for column, type_ in node.inputs.items()}
    return dataclasses.replace(node, inputs=types)


def may_be_missing(node: NodeView | CheckedNode) -> list[str]:
    """Returns the columns of a node whose nulls are missing values to its model."""
    if not takes_missing(node.options):
        return []
    return [column for column, type_ in node.inputs.items() if type_ is not None and type_.nullable]


def filler(node: CheckedNode) -> Callable[[Columns], Columns]:
    """Returns the function that puts missing values where a batch has nulls.

    Columns that have no nulls by their types stay as they are, and so do the companions.
    """
    nullable = may_be_missing(node)
    return (
        (lambda columns: {**columns, **{name: _filled(columns, name) for name in nullable}})
        if nullable
        else _same
    )


def _same(columns: Columns) -> Columns:
    return columns


def _filled(columns: Columns, name: str) -> np.ndarray[Any, np.dtype[Any]]:
    """Returns a column, [N, ...], with NaN or None for nulls.

    Raises:
        NodeError: ``wrong_value``: a whole number is one that no floating-point number is.
    """
    values, valid = columns[name], valid_rows(columns, name)
    if are_beyond_float(values[valid]):
        text = f"'{name}' is beyond 2^53; where whole numbers may be missing they are floating point to the model"
        raise NodeError("wrong_value", text)
    if values.dtype.kind in "iub":
        filled = values.astype(np.float64)
    elif valid.all():
        return values
    else:
        filled = values.copy()
    filled[~valid] = None if filled.dtype == object else np.nan
    return filled
