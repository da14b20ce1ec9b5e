"""What the votes give, and as what type: ``label``, ``confidence``, ``probabilities``, ``unanimous``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.combiners.members import Values
from beam_ensembles.graph.class_meanings import SCORES, Classes, Meaning
from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView
from beam_ensembles.graph.output_ports import check_ports, ports_of, settle
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


def ballot_meanings(node: NodeView, label: str, classes: Classes | None) -> Mapping[str, Meaning]:
    """Returns the meanings of a vote's outputs.

    Args:
        node: The vote.
        label: What its ``label`` holds: one of the classes, or its position.
        classes: The classes in the order of the vote's probabilities, where they are known.
    """
    given = {"label": Meaning(label, classes), "probabilities": Meaning(SCORES, classes)}
    ports = ports_of(node.spec, PORTS)
    return {column: given[port] for column, port in ports.items() if port in given}


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
    def of(cls, node: CheckedNode, ports: Sequence[str] = PORTS) -> Ballot:
        """Creates the writer of a checked node with some ports."""
        return cls(ports_of(node.spec, ports), node.outputs)

    def gives(self, port: str) -> bool:
        """Returns whether a column takes what a port gives."""
        return port in self.ports.values()

    def columns(self, given: Mapping[str, Values]) -> Columns:
        """Creates the output columns of what each port gives, ``[N, ...]``."""
        return {
            column: given[port].astype(dtype_of(self.types[column]) or object, copy=False)
            for column, port in self.ports.items()
        }


def label_array(labels: Sequence[Any]) -> Values:
    """Creates an array of labels: of truth values, of whole numbers, or of objects for texts."""
    if labels and isinstance(labels[0], str):
        return np.fromiter(labels, dtype=object, count=len(labels))
    return np.asarray(labels, dtype=np.bool_ if labels and isinstance(labels[0], bool) else np.int64)
