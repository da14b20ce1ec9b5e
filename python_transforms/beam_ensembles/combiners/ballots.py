"""What the two votes give, and as what type: ``label``, ``confidence``, ``probabilities``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.graph.answers import check_ports, ports_of, settle
from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView
from beam_ensembles.types import DOUBLE, Array, Type, dtype_of

PORTS: Final = ("label", "confidence", "probabilities")


def settle_ballot(node: NodeView, label: Type | None, classes: int | None) -> Mapping[str, Type | None]:
    """Settles the types of a vote's outputs.

    Args:
        node: The vote.
        label: The type of a label, where it is known.
        classes: How many classes there are, where it is known.
    """
    given: dict[str, Type | None] = {
        "label": label,
        "confidence": DOUBLE,
        "probabilities": None if classes is None else Array(DOUBLE, (classes,)),
    }
    ports = check_ports(node, PORTS)
    return settle(node, "type_mismatch", {column: given[port] for column, port in ports.items()})


@dataclasses.dataclass(frozen=True, slots=True)
class Ballot:
    """Writes the result of a vote to the node's columns.

    Attributes:
        ports: The port of each column.
        types: The type of each column.
    """

    ports: Mapping[str, str]
    types: Mapping[str, Type]

    @classmethod
    def of(cls, node: CheckedNode) -> Ballot:
        """Makes the writer of a checked node."""
        return cls(ports_of(node.spec, PORTS), node.outputs)

    def columns(self, shares: np.ndarray[Any, Any], labels: np.ndarray[Any, Any]) -> Columns:
        """Makes the output columns.

        Args:
            shares: What each class got of each row, ``[N, k]``; the first of the greatest wins.
            labels: The classes in that order, ``[k]``.
        """
        winners = np.argmax(shares, axis=1)
        found: dict[str, np.ndarray[Any, Any]] = {}
        for column, port in self.ports.items():
            if port == "label":
                values = labels[winners]
            elif port == "confidence":
                values = shares[np.arange(len(winners)), winners]
            else:
                values = shares
            found[column] = values.astype(dtype_of(self.types[column]) or object, copy=False)
        return found


def label_array(labels: list[Any]) -> np.ndarray[Any, Any]:
    """Makes an array of labels: of whole numbers, or of objects for texts."""
    if labels and isinstance(labels[0], str):
        return np.fromiter(labels, dtype=object, count=len(labels))
    return np.asarray(labels, dtype=np.int64)
