"""What a node's own expressions read and make: those of ``select`` and of ``cases``, on kinds that take them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.spec.language import CASES, SELECT
from beam_ensembles.spec.mistakes import Mistakes
from beam_ensembles.spec.model import Inputs, NodeSpec, OutputSpec
from beam_ensembles.spec.places import below

CASE_KEYS: Final = ("when", "arm")


def with_expressions(
    node: NodeSpec, given: Mapping[str, Any], path: str, options: Mapping[str, str], mistakes: Mistakes
) -> NodeSpec:
    """Adds to a node the columns that its expressions read, and those that ``select`` makes.

    Args:
        node: The node as far as it was read.
        given: Its keys, as written.
        path: Its place.
        options: What each option of its kind accepts.
        mistakes: Takes what is wrong with the expressions.
    """
    if options.get(SELECT) == "mapping" and isinstance(given.get(SELECT), dict):
        select = given[SELECT]
        read = _columns_read(_selected(select, path, mistakes), path, mistakes, frozenset(select))
        return dataclasses.replace(_reading(node, read), outputs=_outputs(node, select, path, mistakes))
    if options.get(CASES) == "list" and isinstance(given.get(CASES), list):
        return _reading(node, _columns_read(_conditions(given[CASES], path, mistakes), path, mistakes))
    return node


def _selected(select: Mapping[str, Any], path: str, mistakes: Mistakes) -> Iterator[tuple[str, str]]:
    """Yields each expression with its place below the node."""
    if not select:
        mistakes.add(below(path, SELECT), "no_outputs", "a node adds at least one column")
    for column, value in select.items():
        place = below(SELECT, column)
        text = mistakes.text(value, below(below(path, SELECT), column), '"COALESCE(age, 0)"')
        if text is not None:
            yield place, text


def _conditions(cases: list[Any], path: str, mistakes: Mistakes) -> Iterator[tuple[str, str]]:
    if not cases:
        mistakes.add(below(path, CASES), "bad_value", "a node has at least one case")
    for index, value in enumerate(cases):
        place = below(CASES, index)
        at = f"{path}.{place}"
        case = mistakes.mapping(value, at, '{when: "score > 0.9", arm: block}')
        if case is None:
            continue
        mistakes.unknown_keys(case, CASE_KEYS, at, "a case")
        for key, meaning in (("when", "the condition"), ("arm", "what the rows get for which it holds")):
            if case.get(key) is None:
                mistakes.add(below(at, key), "missing_key", f"a case needs '{key}': {meaning}")
        if case.get("arm") is not None:
            mistakes.text(case["arm"], below(at, "arm"), "block")
        if case.get("when") is not None:
            text = mistakes.text(case["when"], below(at, "when"), '"score > 0.9"')
            if text is not None:
                yield below(place, "when"), text


def _columns_read(
    expressions: Iterator[tuple[str, str]],
    path: str,
    mistakes: Mistakes,
    siblings: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """Returns the columns that expressions read, each with the place below the node where it is read first."""
    found: dict[str, str] = {}
    for place, text in expressions:
        for column in mistakes.expression(text, f"{path}.{place}") or ():
            if column in siblings and place != below(
                SELECT, column
            ):  # its own may be one of the row's, to be renamed
                message = (
                    f"'{column}' is made by this node itself; make it in a node of its own, before this one"
                )
                mistakes.add(f"{path}.{place}", "unknown_column", message)
            else:
                found.setdefault(column, place)
    return found


def _reading(node: NodeSpec, read: Mapping[str, str]) -> NodeSpec:
    """Puts the columns that are read behind those that ``inputs`` lists."""
    listed = node.inputs
    places = {} if listed is None else {name: listed.path(at) for at, name in enumerate(listed.columns)}
    places |= {column: place for column, place in read.items() if column not in places}
    if not places or (listed is not None and listed.ports is not None):
        return node
    return dataclasses.replace(node, inputs=Inputs(tuple(places), places=tuple(places.values())))


def _outputs(
    node: NodeSpec, select: Mapping[str, Any], path: str, mistakes: Mistakes
) -> tuple[OutputSpec, ...]:
    """Returns the columns of ``select``, with what ``outputs`` says of them."""
    declared = {output.column: output for output in node.outputs}
    taken = {output.port for output in node.outputs}
    place = below(path, SELECT)
    added = {
        column: OutputSpec(column, key=SELECT)
        for column in select
        if column not in declared and column not in taken and mistakes.is_name(column, below(place, column))
    }
    found = {column: declared.get(column) or added.get(column) for column in (*select, *declared)}
    return tuple(output for output in found.values() if output is not None)
