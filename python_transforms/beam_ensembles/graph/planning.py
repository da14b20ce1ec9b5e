"""A checked graph to stages: what runs fused in one ``RunInference``, and why it ends where it does."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Mapping, Sequence
from typing import Any

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.limits import MOST_STAGES


@dataclasses.dataclass(frozen=True, slots=True)
class Gathering:
    """What happens to rows before a stage: those that a node runs on are put together to fuller batches.

    Attributes:
        node: The node; the rows on which its ``when`` does not hold go on at once.
        max_wait: Seconds that a row may wait for others, also those of other bundles; None: till its bundle ends.
    """

    node: CheckedNode
    max_wait: float | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Stage:
    """Nodes that run fused, one batch after another.

    Attributes:
        name: The stage's name, made of the ensemble's and nodes' names only, so that a pipeline can be updated.
        nodes: The nodes in the order in which they run.
        reason: Why the stage starts where it does, for people.
        gathering: What happens to rows before it.
        resources: What its worker must have, as resource hints of Beam.
    """

    name: str
    nodes: tuple[CheckedNode, ...]
    reason: str
    gathering: Gathering | None = None
    resources: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """The stages of an ensemble in the order in which rows go through them."""

    stages: tuple[Stage, ...]


def plan(graph: EnsembleGraph) -> Plan:
    """Cuts a graph into stages.

    A stage ends where the next nodes need other resources, where one asks for a stage of its own, and before a model
    that runs on some rows only (``when``) or wants more (``min``, ``max_wait``), so that rows are put together.
    Of the nodes that could come next, those that fit the stage come first; else the order of the file holds.

    Raises:
        InvalidEnsemble: There would be more stages than ``limits.MOST_STAGES``.
    """
    stages: list[Stage] = []
    for nodes in _groups(graph):
        first = nodes[0]
        name = graph.spec.name if not stages else f"{graph.spec.name}/{first.spec.name}"
        gathering = _gathering(first)
        if gathering is not None and not stages:
            stages.append(Stage(name, (), "the rows are read"))
            name = f"{name}/{first.spec.name}"
        stages.append(Stage(name, nodes, _reason(first, stages), gathering, first.spec.resources))
    if len(stages) > MOST_STAGES:
        text = f"the ensemble needs {len(stages):,} stages; it has {MOST_STAGES:,} at most"
        raise InvalidEnsemble([Problem("nodes", "too_large", text)], ensemble=graph.spec.name)
    return Plan(tuple(stages))


def needs_stages(graph: EnsembleGraph) -> tuple[str, ...]:
    """Returns the nodes that cannot run fused with all others: their file asks for more than one stage."""
    return tuple(node.spec.name for node in graph.nodes if _is_apart(node))


def _is_apart(node: CheckedNode) -> bool:
    gathering = _gathering(node)
    waits = gathering is not None and gathering.max_wait is not None
    return node.spec.own_stage or bool(node.spec.resources) or waits


def alive_between(graph: EnsembleGraph, plan: Plan) -> tuple[tuple[str, ...], ...]:
    """Returns the columns that rows carry from each stage to the next one, in the order in which they are made.

    Returns:
        One tuple less than there are stages.
    """
    made = [name for name, _ in graph.columns_read]
    last = dict.fromkeys({name for name, _ in graph.outputs} | _arms(graph), len(plan.stages))
    for at in reversed(range(len(plan.stages))):
        for column in (column for node in plan.stages[at].nodes for column in _read(node)):
            last.setdefault(column, at)
    found = []
    for at, stage in enumerate(plan.stages[:-1], 1):
        made += [column for node in stage.nodes for column in node.outputs]
        made = [column for column in made if last.get(column, -1) >= at]
        found.append(tuple(made))
    return tuple(found)


def _arms(graph: EnsembleGraph) -> set[str]:
    """Returns the columns of routes: a row's provenance says which arms it took."""
    return {column for node in graph.nodes if node.spec.kind == "route" for column in node.outputs}


def _groups(graph: EnsembleGraph) -> list[tuple[CheckedNode, ...]]:
    """Parts the nodes, in an order in which they can run, into those of one stage each."""
    ready = _Ready(graph.nodes)
    groups: list[tuple[CheckedNode, ...]] = []
    group: list[CheckedNode] = []
    while (found := ready.take(group[0] if group else None)) is not None or group:
        if found is None:
            groups.append(tuple(group))
            group = []
        else:
            group.append(found)
    return groups or [()]


class _Ready:
    """The nodes whose columns are all made, in the order of the graph; time grows with the nodes and what they read."""

    def __init__(self, nodes: Sequence[CheckedNode]) -> None:
        self._nodes = nodes
        makers = {column: at for at, node in enumerate(nodes) for column in node.outputs}
        befores = [{makers[column] for column in _read(node) if column in makers} for node in nodes]
        self._waits = [len(before) for before in befores]
        self._after: list[list[int]] = [[] for _ in nodes]
        for at, before in enumerate(befores):
            for other in before:
                self._after[other].append(at)
        self._all: list[int] = []
        self._alike: dict[Any, list[int]] = {}
        self._taken: set[int] = set()
        for at in range(len(nodes)):
            self._add(at)

    def take(self, first: CheckedNode | None) -> CheckedNode | None:
        """Takes the first node that is ready, for a stage that begins with ``first`` one that fits it."""
        heap = self._all if first is None else self._alike.get(_stage_of(first), [])
        while heap:
            at = heapq.heappop(heap)
            if at not in self._taken:
                self._taken.add(at)
                for after in self._after[at]:
                    self._waits[after] -= 1
                    self._add(after)
                return self._nodes[at]
        return None

    def _add(self, at: int) -> None:
        node = self._nodes[at]
        if self._waits[at]:
            return
        heapq.heappush(self._all, at)
        if _gathering(node) is None and not node.spec.own_stage:
            heapq.heappush(self._alike.setdefault(_stage_of(node), []), at)


def _read(node: CheckedNode) -> set[str]:
    return {*node.inputs, *node.condition, *(other for _, other in node.compared)}


def _stage_of(node: CheckedNode) -> Any:
    """Returns what nodes of one stage have in common; None if no other node fits the stage that this one begins."""
    return None if node.spec.own_stage else frozenset(node.spec.resources.items())


def _gathering(node: CheckedNode) -> Gathering | None:
    batch = node.spec.options.get("batch") or {}
    asks = node.spec.when is not None or "max_wait" in batch or "min" in batch
    return Gathering(node, batch.get("max_wait")) if node.spec.kind == "model" and asks else None


def _reason(first: CheckedNode, before: Sequence[Stage]) -> str:
    name, gathering = first.spec.name, _gathering(first)
    if gathering is not None and gathering.max_wait is not None:
        return f"'{name}' waits up to {gathering.max_wait:g} s for fuller batches"
    if gathering is not None:
        return f"the rows on which '{name}' runs are put together"
    if not before:
        return "the rows are read"
    if first.spec.own_stage:
        return f"'{name}' asks for a stage of its own"
    if first.spec.resources != before[-1].resources:
        return f"'{name}' needs other resources than the nodes before"
    return f"the stage before is that of '{before[-1].nodes[0].spec.name}' alone"
