"""The features and base margins of an XGBoost model: which columns they are, and how a batch of them is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView
from beam_ensembles.handlers.arguments import Argument, Values
from beam_ensembles.handlers.features import (
    Features,
    count_of,
    feature_arguments,
    is_number,
    match,
    warn_of_order,
)
from beam_ensembles.handlers.xgboost.header import Header
from beam_ensembles.types import Scalar, width_of

MARGIN: Final = "base_margin"
WHOLE: Final = "data"
_CATEGORY: Final = "c"


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """What a model is called with.

    Attributes:
        rows: A matrix [N, F], or a DataFrame where the model keeps its own categories.
        margin: The base margins, [N] or [N, classes], or None.
    """

    rows: Any
    margin: Values | None


def check_features(node: NodeView, header: Header | None) -> None:
    """Compares a node's columns with the features of the model, where its header is known."""
    arguments = feature_arguments(node, (MARGIN,), WHOLE)
    margin = arguments.pop(MARGIN, None)
    if margin is not None:
        _check_margin(node, margin, header)
    takes_text = header is None or _CATEGORY in (header.types or ())
    for argument in arguments.values():
        if not is_number(argument) and not (takes_text and argument.element == "string"):
            text = f"an XGBoost model takes numbers, the node gives {argument.element}"
            node.problem("type_mismatch", argument.place, text)
            return
    if header is not None:
        warn_of_order(node, header.names)
        for place, text in disagreements(node, header.features, header.names, header.types):
            node.problem("signature_mismatch", place, text)


def disagreements(
    node: NodeView | CheckedNode,
    count: int,
    names: Sequence[str] | None,
    types: Sequence[str] | None,
) -> Iterator[tuple[str, str]]:
    """Compares a model's features with its node; gives the place below the node and a sentence.

    Args:
        node: The node.
        count: How many features the model takes.
        names: Their names, or None.
        types: Their types, or None.
    """
    features, unmatched = match(node, names, (MARGIN,), WHOLE)
    yield from unmatched
    width = count_of(node.inputs, features.columns)
    if unmatched or width is None:
        return
    if width != count:
        text = f"the model takes {count} features, the columns of the node hold {width}"
        yield "inputs", text
        return
    for column, type_ in zip(_column_of_each(node, features.columns), types or (), strict=False):
        is_text = getattr(node.inputs.get(column), "name", "") == "string"
        if is_text and type_ != _CATEGORY:
            text = f"'{column}' is text, but its feature is no category: the model takes a number ({type_})"
            yield "inputs", text


def _column_of_each(node: NodeView | CheckedNode, columns: Sequence[str]) -> Iterator[str]:
    for column in columns:
        type_ = node.inputs.get(column)
        yield from [column] * ((width_of(type_) if type_ is not None else None) or 1)


def _check_margin(node: NodeView, margin: Argument, header: Header | None) -> None:
    wanted = None if header is None else max(header.classes, header.targets, 1)
    if not is_number(margin):
        node.problem(
            "type_mismatch", margin.place, f"a base margin is a number, the column is {margin.element}"
        )
    elif wanted is not None and margin.width != wanted:
        text = f"the model adds {wanted} base margins a row, the column is {margin}"
        node.problem("signature_mismatch", margin.place, text)


def reader(
    node: CheckedNode, features: Features, categories: Mapping[str, Any], pandas: Any
) -> Callable[[Columns], Batch]:
    """Gives the function that makes what the model is called with of a batch's columns.

    Args:
        node: The node.
        features: Its features.
        categories: The numpy dtype of the categories of each feature that has its own in the model.
        pandas: The module.
    """
    inputs = node.spec.inputs
    ports = dict(zip((inputs.ports if inputs else None) or (), node.spec.columns, strict=False))
    margin = ports.get(MARGIN)

    def read(columns: Columns) -> Batch:
        rows = features.read(columns, pandas if categories else None)
        for name, dtype in categories.items():
            values = rows[name]
            rows[name] = (values if dtype.kind == "O" else values.astype(dtype)).astype("category")
        return Batch(rows, None if margin is None else columns[margin])

    return read


def categories_of(booster: Any) -> dict[str, Any]:
    """Gives the numpy dtype of the categories that a model keeps, by the feature's name.

    XGBoost keeps them from version 3.1 on for models trained on a DataFrame; before, a category was the number that
    it had in the DataFrame at hand.
    """
    is_categorical = _CATEGORY in (booster.feature_types or ()) and booster.feature_names is not None
    if not is_categorical or not hasattr(booster, "get_categories"):
        return {}
    kept = booster.get_categories(export_to_arrow=True)
    found = [] if kept is None or kept.empty() else kept.to_arrow()
    return {name: _dtype(values) for name, values in found if values is not None}


def _dtype(values: Any) -> Any:
    return np.dtype(values.type.to_pandas_dtype())


def uncategorised(
    node: CheckedNode, features: Features, categories: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Finds text for which the model keeps no categories, and fractions that stand for categories."""
    names = features.names or ()
    for at, column in enumerate(_column_of_each(node, features.columns)):
        type_ = node.inputs[column]
        name = names[at] if at < len(names) else column
        is_text = isinstance(type_, Scalar) and type_.name == "string"
        if is_text and name not in categories:
            text = f"'{column}' is text, and the model keeps no categories for it"
            yield "inputs", f"{text}: train it on a DataFrame and save it with XGBoost 3.1 or newer"
        elif not is_text and name in categories and str(type_).startswith(("float", "double", "array")):
            yield (
                "inputs",
                f"'{column}' is {type_}, but the feature '{name}' is a category: text or a whole number",
            )
