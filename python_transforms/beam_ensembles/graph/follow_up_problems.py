"""What a file's earlier problems leave uncertain, so that one mistake is not reported as three."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Final

from beam_ensembles.errors import Problem
from beam_ensembles.spec.language import CASES, EXPRESSION_KEYS, PASSTHROUGH, SELECT
from beam_ensembles.spec.model import EnsembleSpec, NodeSpec
from beam_ensembles.spec.places import around

_OF_EXPRESSIONS: Final = frozenset(("bad_expression", "expression_not_rowwise", "unknown_column"))
_SEVERAL: Final = (SELECT, CASES)
"""The keys that hold several expressions."""


@dataclasses.dataclass(frozen=True, slots=True)
class Doubts:
    """The uncertain parts of a partly readable file.

    Attributes:
        nodes: The nodes with a problem of their own: their kinds are not asked. One that has several expressions, of
            which some are wrong and nothing else is, is asked of the others, too.
        inputs: Input columns that are there, but whose types could not be read.
        columns: Whether there may be columns that are not seen, so that none can be called unknown.
        readers: Whether something may read columns unseen, so that none can be called unused.
    """

    nodes: frozenset[str]
    inputs: frozenset[str]
    columns: bool
    readers: bool


def doubts(spec: EnsembleSpec, known: Sequence[Problem]) -> Doubts:
    """Returns what is uncertain about a file.

    Args:
        spec: What could be read of it.
        known: The problems of the rest.
    """
    paths = [problem.path for problem in known]
    by_node: dict[str, list[Problem]] = {node.path(): [] for node in spec.nodes}
    hidden = [path for path in paths if path == "inputs" or path.startswith("inputs[")]
    for problem in known:
        place = next((place for place in around(problem.path) if place in by_node), None)
        if place is not None:
            by_node[place].append(problem)
        elif _is_in(problem.path, "nodes"):
            hidden.append(problem.path)
    return Doubts(
        nodes=frozenset(
            node.name
            for node in spec.nodes
            if by_node[node.path()] and not _asked(node, by_node[node.path()])
        ),
        inputs=frozenset(path.removeprefix("inputs.") for path in paths if path.startswith("inputs."))
        - {column for column, _ in spec.inputs},
        columns=bool(hidden) or any(_hides_columns(node, by_node[node.path()]) for node in spec.nodes),
        readers=bool(hidden)
        or any(_is_in(path, "outputs") for path in paths)
        or any(_hides_readers(node, by_node[node.path()]) for node in spec.nodes),
    )


def _asked(node: NodeSpec, own: Sequence[Problem]) -> bool:
    places = [node.path(key) for key in _SEVERAL]
    return node.inputs is not None and all(
        problem.code in _OF_EXPRESSIONS and any(_is_in(problem.path, place) for place in places)
        for problem in own
    )


def _is_in(path: str, place: str) -> bool:
    return path.startswith(place) and path[len(place) : len(place) + 1] in ("", ".", "[")


def _hides_columns(node: NodeSpec, own: Sequence[Problem]) -> bool:
    if not own:
        return False
    seen = {node.path("outputs", output.column) for output in node.outputs}
    lost = (problem.path for problem in own if _is_in(problem.path, node.path("outputs")))
    return any(seen.isdisjoint(around(path)) for path in lost)


def _hides_readers(node: NodeSpec, own: Sequence[Problem]) -> bool:
    keys = ("inputs", PASSTHROUGH, *EXPRESSION_KEYS)
    places = [node.path(key) for key in keys]
    return node.inputs is None or any(_is_in(one.path, place) for one in own for place in places)
