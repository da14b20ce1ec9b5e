"""``softmax``: scores to probabilities."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.graph.answers import check_ports, settle
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView, Option
from beam_ensembles.types import NUMPY_DTYPES, Array, Scalar, Type, dtype_of

PORT = "probabilities"


class SoftmaxKind:
    """Gives ``exp(x) / sum(exp(x))`` over the last dimension of a row's scores."""

    kind = "apply"
    name = "softmax"
    summary = "Turns a row's scores into probabilities that add up to 1."
    takes = "One column of a row's scores."
    gives = "probabilities: as many, that add up to 1."
    extra: str | None = None
    modules: tuple[str, ...] = ()
    takes_nulls = False
    options: tuple[Option, ...] = ()

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks that there is one list or tensor of fractions; what comes out is of the same type."""
        inputs = node.spec.inputs
        if inputs is not None and (inputs.ports is not None or len(inputs.columns) > 1):
            node.problem("unknown_port", inputs.path(0), "a softmax takes a list of one column: [scores]")
        column = node.spec.columns[0] if node.spec.columns else None
        type_ = node.inputs.get(column) if column is not None else None
        if type_ is not None and not _are_scores(type_):
            text = f"'{column}' is {type_}; a softmax takes a row's scores, such as array<float> or array<double>[10]"
            node.problem("type_mismatch", inputs.path(0) if inputs is not None else "inputs", text)
            type_ = None
        ports = check_ports(node, [PORT])
        return settle(node, "type_mismatch", dict.fromkeys(ports, type_))

    def load(self, node: CheckedNode) -> Member:
        """Nothing is loaded: gives the function itself."""
        return Softmax(node.spec.columns[0], node.outputs)


def _are_scores(type_: Type) -> bool:
    if not isinstance(type_, Array) or not isinstance(type_.element, Scalar) or type_.element.nullable:
        return False
    dtype = NUMPY_DTYPES.get(type_.element.name)
    return dtype is not None and dtype.kind == "f"


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
        """Computes every row's probabilities."""
        values = columns[self.column]
        if values.dtype != object:
            found = _softmax(values)
            return {name: found.astype(dtype_of(type_)) for name, type_ in self.outputs.items()}
        lists = [_softmax(np.asarray(row)).tolist() if len(row) else [] for row in values]
        column = np.fromiter(lists, dtype=object, count=len(lists))
        return dict.fromkeys(self.outputs, column)


def _softmax(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    scores = scores.astype(np.float64)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
