"""A batch's columns -> what a scikit-learn model is called with, its missing values as it had them in training."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem
from beam_ensembles.graph.kinds import CheckedNode, Columns, valid_rows
from beam_ensembles.handlers.sklearn.fitted_steps import MissingMarks, Part, known_values, unknown_of
from beam_ensembles.handlers.support.arguments import Values
from beam_ensembles.handlers.support.features import Features, column_of_each
from beam_ensembles.handlers.support.missing_values import filler, may_be_missing
from beam_ensembles.handlers.support.unknown_categories import rows_of_unknown, unknown_category
from beam_ensembles.types import BOOLEAN, dtype_of


def reader(
    node: CheckedNode,
    features: Features,
    missing: MissingMarks,
    pandas: Any,
    *,
    is_matrix: bool,
    keeps_truth: bool = True,
) -> Callable[[Columns], Any]:
    """Returns the function that makes a model's features of a batch's columns.

    Args:
        node: The node.
        features: Its features.
        missing: What a missing text is to the model.
        pandas: The module.
        is_matrix: Whether the model takes a single text as a matrix [N, 1], too, as an encoder does: it counts its
            features. A vectorizer takes a list of texts, [N].
        keeps_truth: Whether truth values that may be missing stay objects beside texts and in a DataFrame.
    """
    fill, marks = filler(node), _marks(node, features, missing, keeps_truth)
    kept = dataclasses.replace(features, objects=frozenset(marks))

    def read(columns: Columns) -> Any:
        marked = {column: _marked(columns, column, mark) for column, mark in marks.items()}
        found = kept.read({**fill(columns), **marked}, pandas)
        found = found.reshape(-1, 1) if is_matrix and found.ndim == 1 else found
        # Steps of people's own write into what they are given; other nodes read the same column.
        return found.copy() if isinstance(found, np.ndarray) and not found.flags.writeable else found

    return read


def _marks(
    node: CheckedNode, features: Features, missing: MissingMarks, keeps_truth: bool
) -> dict[str, float | None]:
    """Returns what stands for a null in columns of objects, None or NaN: what the model says, else NaN as in pandas.

    So in text and bytes; in truth values, where they are objects among others or in a DataFrame; and in numbers of a
    DataFrame that an encoder knows as objects.

    Raises:
        InvalidEnsemble: ``signature_mismatch``: the model takes either, and nothing tells which a column needs.
    """
    holds_objects = keeps_truth and (features.names is not None or features.has_text)
    nullable, found = set(may_be_missing(node)), {}
    for at, column in enumerate(column_of_each(node.inputs, features.columns)):
        type_ = node.inputs[column].required()
        is_object = dtype_of(type_) is None or (type_ == BOOLEAN and holds_objects)
        if (column in nullable and is_object) or (holds_objects and at in missing.of_objects):
            try:
                found[column] = missing.of(at)
            except LookupError as exc:
                text = (
                    f"a null of '{column}' may be None or NaN to the model: some of its encoders and imputers were "
                    "trained on one, some on the other; train all of them on one of the two"
                )
                raise InvalidEnsemble([Problem(node.spec.path("nulls"), "signature_mismatch", text)]) from exc
    return found


def _marked(columns: Columns, name: str, mark: float | None) -> Values:
    values = columns[name].astype(object)
    values[~valid_rows(columns, name)] = mark
    return values


def unknown_categories(
    parts: Sequence[Part], of_features: Sequence[str], error: Exception, columns: Columns
) -> Mapping[int, NodeError]:
    """Returns the error of each row of a batch that an encoder failed on; none where none did.

    Args:
        parts: The parts of the model.
        of_features: The column of each of its features.
        error: What it raised.
        columns: The batch.

    Raises:
        NodeError: ``unknown_category``: one failed, but which row's value is not known.
    """
    unknown = unknown_of(error, parts, of_features) if isinstance(error, ValueError) else None
    if unknown is None:
        return {}
    found = {}
    if unknown.feature is not None:
        found = rows_of_unknown(columns, of_features[unknown.feature], unknown.known)
    if not found:
        raise unknown_category(unknown.where, unknown.value, unknown.known) from None
    return found


def examples_of(parts: Sequence[Part], of_features: Sequence[str]) -> Mapping[str, Sequence[Any]]:
    """Returns values of the columns that encoders know, for the model's trial.

    Args:
        parts: The parts of the model.
        of_features: The column of each of its features.
    """
    return {of_features[at]: known for at, known in known_values(parts).items()}
