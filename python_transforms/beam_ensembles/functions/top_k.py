"""``top_k``: the greatest of a row's scores, and where they stand."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.columns.nested_rows import plain
from beam_ensembles.functions.rows import finished, objects, of_each
from beam_ensembles.functions.scores import (
    check_scores,
    dtype_of_scores,
    places_of,
    scores_of,
    split_tensor,
)
from beam_ensembles.graph.class_meanings import BEST_FIRST, Meaning
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import check_ports, ports_of, settle
from beam_ensembles.limits import LARGEST_COUNT
from beam_ensembles.types import INT64, Array, Type, row_shape

INDICES: Final = "indices"
SCORES: Final = "scores"
PORTS: Final = (INDICES, SCORES)

Values = np.ndarray[Any, Any]

_FEW: Final = 8
"""From so many times as many scores as are wanted on, sorting all of them is more work than finding the best first."""


class TopKOptions(Options):
    """How many scores are wanted."""

    k: int = option(0, "How many, at least 1.", required=True, most=LARGEST_COUNT)


class TopKKind(Kind[TopKOptions]):
    """Returns the greatest scores in falling order, over the last dimension of a tensor; of equals the first."""

    kind = "apply"
    name = "top_k"
    summary = "Returns a row's greatest scores, best first, and their indices; of equals the first."
    takes = "One column of a row's scores."
    gives = "indices: int64, counted from 0; scores: of the scores' own type. A shorter list returns all its scores."
    options = TopKOptions

    def check(self, node: NodeView[TopKOptions]) -> Mapping[str, Type | None]:
        """Checks that there is one column of scores, and that a tensor has as many as are wanted."""
        type_ = check_scores(node)
        k, given = node.options.k, dict[str, Type]()
        if k < 1:
            node.problem("bad_value", "k", f"'k' is {k}; at least 1 is allowed")
        elif type_ is not None and type_.shape is not None and k > type_.shape[-1]:
            text = f"'k' is {k}, but '{node.spec.columns[0]}' has {type_.shape[-1]} scores ({type_})"
            node.problem("bad_value", "k", text)
        elif type_ is not None:
            given = _given(type_, k)
        ports = check_ports(node, PORTS)
        return settle(node, "type_mismatch", {name: given.get(port) for name, port in ports.items()})

    def meanings(self, node: NodeView[TopKOptions]) -> Mapping[str, Meaning]:
        """The indices are positions among the classes of the scores."""
        given = {INDICES: places_of(node), SCORES: BEST_FIRST}
        found = {column: given[port] for column, port in ports_of(node.spec, PORTS).items()}
        return {column: meaning for column, meaning in found.items() if meaning is not None}

    def load(self, node: CheckedNode[TopKOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        column, k = node.spec.columns[0], node.options.k
        type_ = node.inputs[column].required()
        return TopK(
            column, k, dtype_of_scores(type_), ports_of(node.spec, PORTS), _given(type_, k), node.outputs
        )


def _given(scores: Type, k: int) -> dict[str, Type]:
    """Returns the type of what comes out at each port for scores of a type."""
    element = scores.element if isinstance(scores, Array) else scores
    shape = (*row_shape(scores)[:-1], k) if row_shape(scores) else None
    return {INDICES: Array(INT64, shape), SCORES: Array(element, shape)}


@dataclasses.dataclass(frozen=True, slots=True)
class TopK:
    """Finds the greatest scores.

    Attributes:
        column: The scores.
        k: How many are wanted.
        dtype: The dtype of one of them.
        ports: Which port each column takes that it adds.
        given: The type of what comes out at each port.
        outputs: The type of each column that it adds.
    """

    column: str
    k: int
    dtype: np.dtype[Any]
    ports: Mapping[str, str]
    given: Mapping[str, Type]
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Finds every row's greatest scores.

        Raises:
            SomeFailed: Some rows have no scores, or one that is not a number.
        """
        values = columns[self.column]
        if values.dtype != object:
            good, faults = split_tensor(values, self.column)
            indices = _best(good, self.k)
            found = {INDICES: indices, SCORES: np.take_along_axis(good, indices, axis=-1)}
        else:
            pairs, faults = of_each(self._of_list, values)
            found = {port: objects([pair[at] for pair in pairs]) for at, port in enumerate(PORTS)}
        answers = {name: (found[port], self.given[port]) for name, port in self.ports.items()}
        return finished(answers, self.outputs, faults)

    def _of_list(self, row: Any) -> tuple[list[int], list[Any]]:
        indices = _best(scores_of(row, self.dtype, self.column), self.k).tolist()
        values = plain(row)
        return indices, [values[at] for at in indices]


def _best(scores: Values, k: int) -> Values:
    """Returns the indices of the ``k`` greatest along the last axis, falling; of equals the lower index comes first."""
    if k * _FEW > scores.shape[-1]:
        return _falling(scores)[..., :k]
    few = _greatest(scores, k)
    order = _falling(np.take_along_axis(scores, few, axis=-1))
    return np.asarray(np.take_along_axis(few, order, axis=-1))


def _falling(scores: Values) -> Values:
    """Returns the indices that sort scores from the greatest to the least; equals stay in their order."""
    last = scores.shape[-1] - 1
    rising = np.argsort(scores[..., ::-1], axis=-1, kind="stable")
    return np.asarray(last - rising[..., ::-1], dtype=np.int64)


def _greatest(scores: Values, k: int) -> Values:
    """Returns the indices of the ``k`` greatest in rising order, without sorting all scores."""
    at = scores.shape[-1] - k
    least = np.partition(scores, at, axis=-1)[..., at, None]
    above, equal = scores > least, scores == least
    places_left = k - above.sum(axis=-1, keepdims=True)
    chosen = above | (equal & (equal.cumsum(axis=-1) <= places_left))
    return np.nonzero(chosen)[-1].reshape(*scores.shape[:-1], k).astype(np.int64, copy=False)
