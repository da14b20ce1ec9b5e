"""A checked graph to stages: what runs fused in one ``RunInference``."""

from __future__ import annotations

import dataclasses

from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.graph.model import EnsembleGraph


@dataclasses.dataclass(frozen=True, slots=True)
class Stage:
    """Nodes that run fused, one batch after another.

    Attributes:
        name: The stage's name, made of the ensemble's and nodes' names only, so that a pipeline can be
        updated. nodes: The nodes in the order in which they run. reason: Why the stage starts where it does,
        for people.
    """

    name: str
    nodes: tuple[CheckedNode, ...]
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """The stages of an ensemble in the order in which rows go through them."""

    stages: tuple[Stage, ...]


def plan(graph: EnsembleGraph) -> Plan:
    """Cuts a graph into stages. Nothing in this version's language asks for a cut, so there is one."""
    return Plan((Stage(graph.spec.name, graph.nodes, "all nodes run fused"),))
