"""``argmax``: where the greatest of a row's scores stands."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.functions.rows import finished, of_each
from beam_ensembles.functions.scores import (
    check_scores,
    dtype_of_scores,
    places_of,
    scores_of,
    split_tensor,
)
from beam_ensembles.graph.class_meanings import Meaning, of_all_outputs
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.types import INT64, Array, Type, row_shape

PORT = "index"


class ArgmaxKind(Kind):
    """Returns the index of the greatest score, over the last dimension of a tensor; of equals the first."""

    kind = "apply"
    name = "argmax"
    summary = "Returns the index of a row's greatest score, counted from 0; of equals the first."
    takes = "One column of a row's scores."
    gives = "index: int64; of a tensor of several dimensions one for each of its last."
    options = Options

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks that there is one column of scores."""
        type_ = check_scores(node)
        given = _given(type_) if type_ is not None else None
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), given))

    def meanings(self, node: NodeView) -> Mapping[str, Meaning]:
        """The index is a position among the classes of the scores."""
        return of_all_outputs(node.spec, places_of(node))

    def load(self, node: CheckedNode) -> Member:
        """Nothing is loaded: gives the function itself."""
        column = node.spec.columns[0]
        type_ = node.inputs[column].required()
        return Argmax(column, dtype_of_scores(type_), _given(type_), node.outputs)


def _given(scores: Type) -> Type:
    """Returns the type of what comes out for scores of a type."""
    return Array(INT64, row_shape(scores)[:-1]) if len(row_shape(scores)) > 1 else INT64


@dataclasses.dataclass(frozen=True, slots=True)
class Argmax:
    """Finds the greatest scores.

    Attributes:
        column: The scores.
        dtype: The dtype of one of them.
        given: The type of what comes out.
        outputs: The type of each column that it adds.
    """

    column: str
    dtype: np.dtype[Any]
    given: Type
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Finds every row's greatest score.

        Raises:
            SomeFailed: Some rows have no scores, or one that is not a number.
        """
        values = columns[self.column]
        if values.dtype != object:
            good, faults = split_tensor(values, self.column)
            found = np.argmax(good, axis=-1).astype(np.int64, copy=False)
        else:
            indices, faults = of_each(self._of_list, values)
            found = np.array(indices, dtype=np.int64)
        return finished(dict.fromkeys(self.outputs, (found, self.given)), self.outputs, faults)

    def _of_list(self, row: Any) -> int:
        return int(scores_of(row, self.dtype, self.column).argmax())
