"""The features and base margins of an XGBoost model: which columns they are, and how a batch of them is made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView
from beam_ensembles.handlers.support.arguments import Argument, Values
from beam_ensembles.handlers.support.categories import Category, matrix_reader
from beam_ensembles.handlers.support.features import (
    Features,
    column_of_each,
    count_of,
    feature_arguments,
    is_number,
    match,
    nameless,
    warn_of_order,
)
from beam_ensembles.handlers.support.missing_values import may_be_missing
from beam_ensembles.handlers.xgboost.categories import CATEGORY
from beam_ensembles.handlers.xgboost.header import Header

MARGIN: Final = "base_margin"
WHOLE: Final = "data"


@dataclasses.dataclass(frozen=True, slots=True)
class Batch:
    """What a model is called with.

    Attributes:
        rows: A matrix [N, F]; categories that the model keeps are codes, what is missing is NaN.
        margin: The base margins, [N] or [N, classes], or None.
    """

    rows: Values
    margin: Values | None


def check_features(node: NodeView, header: Header | None) -> None:
    """Compares a node's columns with the features of the model, where its header is known."""
    arguments = feature_arguments(node, (MARGIN,), WHOLE)
    margin = arguments.pop(MARGIN, None)
    if margin is not None:
        _check_margin(node, margin, header)
    takes_text = header is None or CATEGORY in (header.types or ())
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
    if (text := nameless(node, features)) is not None:
        yield "inputs", text
    width = count_of(node.inputs, features.columns)
    if unmatched or width is None:
        return
    if width != count:
        text = f"the model takes {count} features, the columns of the node hold {width}"
        yield "inputs", text
        return
    for column, type_ in zip(column_of_each(node.inputs, features.columns), types or (), strict=False):
        is_text = getattr(node.inputs.get(column), "name", "") == "string"
        if is_text and type_ != CATEGORY:
            text = (
                f"'{column}' is text, but its feature is not a category: the model takes a number ({type_})"
            )
            yield "inputs", text


def _check_margin(node: NodeView, margin: Argument, header: Header | None) -> None:
    wanted = None if header is None else max(header.classes, header.targets, 1)
    if not is_number(margin):
        node.problem(
            "type_mismatch", margin.place, f"a base margin is a number, the column is {margin.element}"
        )
    elif wanted is not None and margin.width != wanted:
        text = f"the model adds {wanted} base margins a row, the column is {margin}"
        node.problem("signature_mismatch", margin.place, text)


def check_margin_is_there(node: NodeView) -> None:
    """Reports base margins that may be null where nulls are missing values: with NaN the model's answer is NaN."""
    inputs = node.spec.inputs
    ports = (inputs.ports if inputs is not None else None) or ()
    for at, port in enumerate(ports):
        column = node.spec.columns[at]
        if port == MARGIN and column in may_be_missing(node):
            text = f"'{column}' may be null, and a base margin has no missing value"
            node.problem(
                "type_mismatch", f"inputs.{MARGIN}", f"{text}; fill it before (apply: sql, COALESCE)"
            )


def reader(
    node: CheckedNode, features: Features, categories: Sequence[Category]
) -> Callable[[Columns], Batch]:
    """Returns the function that makes what the model is called with of a batch's columns.

    Args:
        node: The node.
        features: Its features.
        categories: Those that are categories; the model is given their codes.
    """
    inputs = node.spec.inputs
    ports = dict(zip((inputs.ports if inputs else None) or (), node.spec.columns, strict=False))
    margin = ports.get(MARGIN)
    make = matrix_reader(node, features, categories)

    def read(columns: Columns) -> Batch:
        rows, filled = make(columns)
        return Batch(rows, None if margin is None else filled[margin])

    return read
