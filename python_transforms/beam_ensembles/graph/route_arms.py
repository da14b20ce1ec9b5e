"""Conditions on a route's column: whether the arm that they name is one that the route gives."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import Problem, listed, nearest
from beam_ensembles.graph.expressions.trees import Tree, kind_of, parts
from beam_ensembles.messages.printable import truncate
from beam_ensembles.spec.expressions import parse
from beam_ensembles.spec.language import CASES
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.spec.sql_tokens import ExpressionError

_EQUALS: Final = ("Eq", "NotEq", "EqValidity", "NotEqValidity")


def unknown_arms(
    nodes: Sequence[NodeSpec], makers: Mapping[str, NodeSpec], arms: Mapping[str, Sequence[str]]
) -> Iterator[Problem]:
    """Finds comparisons with an arm that there is not (``unknown_arm``): such a condition never holds, or always.

    Args:
        nodes: The nodes with conditions.
        makers: The node that adds each column.
        arms: The arms of each node that gives some.
    """
    arms_of = {name: dict.fromkeys(found) for name, found in arms.items()}
    for node in nodes:
        yield from _unknown_arms(node, makers, arms_of)


def _unknown_arms(
    node: NodeSpec, makers: Mapping[str, NodeSpec], arms_of: Mapping[str, Mapping[str, None]]
) -> Iterator[Problem]:
    for place, text in _conditions(node):
        for column, arm in _compared(text):
            route = makers.get(column)
            arms = arms_of.get(route.name, {}) if route is not None else {}
            if route is None or not arms or arm in arms:
                continue
            known = listed(list(itertools.islice(arms, 12)), total=len(arms))
            said = f"'{column}' is never '{truncate(arm, 60)}': the route '{route.name}' has no such arm"
            yield Problem(node.path(place), "unknown_arm", f"{said}{nearest(arm, arms)} (arms: {known})")


def _conditions(node: NodeSpec) -> Iterator[tuple[str, str]]:
    if node.when is not None:
        yield "when", node.when
    cases = node.options.get(CASES)
    for index, case in enumerate(cases if isinstance(cases, list) else []):
        yield f"{CASES}[{index}].when", case["when"]


def _compared(text: str) -> Iterator[tuple[str, str]]:
    """Yields the columns that an expression compares with a text, each with that text."""
    try:
        tree = json.loads(parse(text).meta.serialize(format="json"))
    except ExpressionError:
        return
    yield from dict.fromkeys(_equal(tree))


def _equal(tree: Tree) -> Iterator[tuple[str, str]]:
    kind, held = kind_of(tree)
    if kind == "BinaryExpr" and held["op"] in _EQUALS:
        for one, other in ((held["left"], held["right"]), (held["right"], held["left"])):
            text = _text(other)
            if kind_of(one)[0] == "Column" and text is not None:
                yield kind_of(one)[1], text
    for part in parts(tree):
        yield from _equal(part)


def _text(tree: Tree) -> str | None:
    kind, held = kind_of(tree)
    found: Any = held.get("Scalar", {}).get("String") if kind == "Literal" else None
    return found if isinstance(found, str) else None
