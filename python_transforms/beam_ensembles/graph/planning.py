"""A checked graph to stages: what runs fused in one ``RunInference``, and why it ends where it does."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.graph.model import EnsembleGraph


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
    return Plan(tuple(stages))


def needs_stages(graph: EnsembleGraph) -> tuple[str, ...]:
    """Gives the nodes that cannot run fused with all others: their file asks for more than one stage."""
    return tuple(node.spec.name for node in graph.nodes if _is_apart(node))


def _is_apart(node: CheckedNode) -> bool:
    gathering = _gathering(node)
    waits = gathering is not None and gathering.max_wait is not None
    return node.spec.own_stage or bool(node.spec.resources) or waits


def alive_between(graph: EnsembleGraph, plan: Plan) -> tuple[tuple[str, ...], ...]:
    """Gives the columns that rows carry from each stage to the next one, in the order in which they are made.

    Returns:
        One tuple less than there are stages.
    """
    made = [name for name, _ in graph.columns_read]
    found = []
    for at, stage in enumerate(plan.stages[:-1], 1):
        made += [column for node in stage.nodes for column in node.outputs]
        needed = _needed(plan.stages[at:]) | {name for name, _ in graph.outputs} | _arms(graph)
        found.append(tuple(column for column in made if column in needed))
    return tuple(found)


def _arms(graph: EnsembleGraph) -> set[str]:
    """Gives the columns of routes: a row's provenance says which arms it took."""
    return {column for node in graph.nodes if node.spec.kind == "route" for column in node.outputs}


def _needed(stages: Iterable[Stage]) -> set[str]:
    nodes = [node for stage in stages for node in stage.nodes]
    read = {column for node in nodes for column in (*node.inputs, *node.condition)}
    return read | {other for node in nodes for _, other in node.compared}


def _groups(graph: EnsembleGraph) -> list[tuple[CheckedNode, ...]]:
    """Parts the nodes, in an order in which they can run, into those of one stage each."""
    waiting = list(graph.nodes)
    groups: list[tuple[CheckedNode, ...]] = []
    group: list[CheckedNode] = []
    while waiting:
        ready = [node for node in waiting if _is_ready(node, waiting)]
        found = next((node for node in ready if not group or _fits(node, group)), None)
        if found is None:
            groups.append(tuple(group))
            group = []
        else:
            group.append(found)
            waiting.remove(found)
    return [*groups, tuple(group)]


def _is_ready(node: CheckedNode, waiting: Sequence[CheckedNode]) -> bool:
    read = {*node.inputs, *node.condition, *(other for _, other in node.compared)}
    return not any(read.intersection(other.outputs) for other in waiting)


def _fits(node: CheckedNode, group: Sequence[CheckedNode]) -> bool:
    first = group[0]
    return (
        not node.spec.own_stage
        and not first.spec.own_stage
        and _gathering(node) is None
        and node.spec.resources == first.spec.resources
    )


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
