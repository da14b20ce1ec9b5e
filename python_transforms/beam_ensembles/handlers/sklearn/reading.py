"""A batch's columns -> what a scikit-learn model is called with, its missing values as it had them in training."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, valid_rows
from beam_ensembles.handlers.arguments import Values
from beam_ensembles.handlers.features import Features, column_of_each
from beam_ensembles.handlers.missing import filler, may_be_missing
from beam_ensembles.handlers.sklearn.parts import Part, Unknown, known_values, missing_marks, unknown_of
from beam_ensembles.types import BOOLEAN, dtype_of


def reader(
    node: CheckedNode, features: Features, parts: Sequence[Part], pandas: Any, *, is_matrix: bool
) -> Callable[[Columns], Any]:
    """Returns the function that makes a model's features of a batch's columns.

    Args:
        node: The node.
        features: Its features.
        parts: The parts of the model.
        pandas: The module.
        is_matrix: Whether the model takes a single text as a matrix [N, 1], too, as an encoder does: it counts its
            features. A vectorizer takes a list of texts, [N].
    """
    fill, marks = filler(node), _marks(node, features, parts)
    kept = dataclasses.replace(features, objects=frozenset(marks))

    def read(columns: Columns) -> Any:
        marked = {column: _marked(columns, column, mark) for column, mark in marks.items()}
        found = kept.read({**fill(columns), **marked}, pandas)
        return found.reshape(-1, 1) if is_matrix and found.ndim == 1 else found

    return read


def _marks(node: CheckedNode, features: Features, parts: Sequence[Part]) -> dict[str, float | None]:
    """Returns what stands for a null in columns of objects, None or NaN: what the model says, else NaN as in pandas.

    So in text and bytes; and in truth values, where they are objects among others or in a DataFrame.
    """
    by_feature = missing_marks(parts)
    holds_objects = features.names is not None or features.has_text
    nullable, found = set(may_be_missing(node)), {}
    for at, column in enumerate(column_of_each(node.inputs, features.columns)):
        type_ = node.inputs[column].required()
        if column in nullable and (dtype_of(type_) is None or (type_ == BOOLEAN and holds_objects)):
            found[column] = by_feature.get(at, math.nan)
    return found


def _marked(columns: Columns, name: str, mark: float | None) -> Values:
    values = columns[name].astype(object)
    values[~valid_rows(columns, name)] = mark
    return values


@dataclasses.dataclass(frozen=True, slots=True)
class SaysUnknownCategories:
    """Calls a model's member; rows of categories that an encoder does not know have errors of their own.

    Attributes:
        member: It.
        parts: The parts of the model.
        columns: The column of each feature.
    """

    member: Member
    parts: Sequence[Part]
    columns: Sequence[str]

    @property
    def examples(self) -> Mapping[str, Sequence[Any]]:
        """Values of the columns that the model's encoders know, for its trial."""
        return {self.columns[at]: known for at, known in known_values(self.parts).items()}

    def __call__(self, columns: Columns) -> Columns:
        """Runs the member, again without the rows of each feature that has such categories.

        Raises:
            SomeFailed: Some rows have them.
            NodeError: ``unknown_category``: one has, but which is not known.
        """
        rows = np.arange(len(next(iter(columns.values()))))
        faults: dict[int, NodeError] = {}
        answers: Columns = {}
        while len(rows):
            given = {name: values[rows] for name, values in columns.items()} if faults else columns
            try:
                answers = self.member(given)
                break
            except ValueError as error:
                unknown = unknown_of(error, self.parts, self.columns)
                if unknown is None:
                    raise
                found = self._rows_of(unknown, given)
                if not found:
                    raise unknown.error(unknown.value) from None
                faults.update((int(rows[at]), fault) for at, fault in found.items())
                rows = np.delete(rows, list(found))
        if faults:
            raise SomeFailed(answers, dict(sorted(faults.items())))
        return answers

    def _rows_of(self, unknown: Unknown, columns: Columns) -> dict[int, NodeError]:
        """Finds the rows whose values an encoder does not know; none where it does not see them as they are."""
        if unknown.feature is None:
            return {}
        name, known = self.columns[unknown.feature], set(unknown.known)
        values, valid = columns[name], valid_rows(columns, name)
        if values.ndim > 1 or (values.dtype == object and not all(type(one) is str for one in values[valid])):
            return {}
        pairs = enumerate(zip(values.tolist(), valid.tolist(), strict=True))
        return {at: unknown.error(one) for at, (one, is_there) in pairs if is_there and one not in known}
