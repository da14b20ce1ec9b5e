"""``softmax``: scores to probabilities."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.functions.inputs import is_number, one_column, wrong_input
from beam_ensembles.functions.rows import objects, of_each
from beam_ensembles.graph.class_meanings import SCORES, Meaning, of_all_outputs
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.types import Array, Type, dtype_of

PORT = "probabilities"


class SoftmaxKind(Kind):
    """Returns ``exp(x) / sum(exp(x))`` over the last dimension of a row's scores."""

    kind = "apply"
    name = "softmax"
    summary = "Turns a row's scores into probabilities that add up to 1."
    takes = "One column of a row's scores."
    gives = "probabilities: as many, that add up to 1."
    options = Options

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks that there is one list or tensor of fractions; what comes out is of the same type."""
        type_ = one_column(node, "a row's scores", "scores")
        if type_ is not None and not _are_scores(type_):
            wrong_input(node, 0, "a row's scores, such as array<float> or array<double>[10]")
            type_ = None
        ports = check_ports(node, [PORT])
        return settle(node, "type_mismatch", dict.fromkeys(ports, type_))

    def meanings(self, node: NodeView) -> Mapping[str, Meaning]:
        """The probabilities are about the classes of the scores."""
        found = node.meanings.get(node.spec.columns[0]) if node.spec.columns else None
        if found is not None and found.holds in (SCORES, ""):
            found = dataclasses.replace(found, holds=SCORES, refused="")
        return of_all_outputs(node.spec, found)

    def load(self, node: CheckedNode) -> Member:
        """Nothing is loaded: gives the function itself."""
        return Softmax(node.spec.columns[0], node.outputs)


def _are_scores(type_: Type) -> bool:
    return isinstance(type_, Array) and is_number(type_.element, "f")


@dataclasses.dataclass(frozen=True, slots=True)
class Softmax:
    """Computes in double precision, with each row's greatest score taken off so that nothing overflows.

    Attributes:
        column: The scores.
        outputs: The type of each column that it adds.
    """

    column: str
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Computes every row's probabilities.

        Raises:
            SomeFailed: The greatest score of some rows is not finite.
        """
        values = columns[self.column]
        if values.dtype != object:
            good = _have_probabilities(values)
            faults = {int(at): self._refused() for at in np.flatnonzero(~good)}
            found = _softmax(values[good] if faults else values)
            given = {name: found.astype(dtype_of(type_)) for name, type_ in self.outputs.items()}
        else:
            lists, faults = of_each(self._of_list, values)
            given = dict.fromkeys(self.outputs, objects(lists))
        if faults:
            raise SomeFailed(given, faults)
        return given

    def _of_list(self, row: Any) -> list[float]:
        scores = np.asarray(row, dtype=np.float64)[np.newaxis]
        if not scores.size:
            return []
        if not _have_probabilities(scores)[0]:
            raise self._refused()
        return list(_softmax(scores)[0].tolist())

    def _refused(self) -> NodeError:
        text = f"'{self.column}' holds NaN or infinity, or nothing but -infinity, so it has no probabilities"
        return NodeError("wrong_value", text)


def _have_probabilities(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns for which rows every greatest score is finite: NaN is greater than all, -infinity beside others is 0."""
    finite = np.isfinite(scores.max(axis=-1))
    return np.asarray(finite.all(axis=tuple(range(1, finite.ndim))))


def _softmax(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    scores = scores.astype(np.float64)
    with np.errstate(over="ignore"):  # the difference of two huge scores; its power is 0 all the same
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
