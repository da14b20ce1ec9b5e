"""What a ``lookup`` reads: the columns of its ``key``, each with the table's column that it is compared with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.spec.mistakes import Mistakes
from beam_ensembles.spec.model import Inputs, NodeSpec
from beam_ensembles.spec.places import below

KEY: Final = "key"


def with_key(
    node: NodeSpec, given: Mapping[str, Any], path: str, options: Mapping[str, str], mistakes: Mistakes
) -> NodeSpec:
    """Adds to a lookup the columns that its key reads; the ports are the names of the table's columns.

    Nothing else says what a lookup reads: one that has ``inputs`` too is left as it is, for its kind to report.

    Args:
        node: The node as far as it was read.
        given: Its keys, as written.
        path: Its place.
        options: What each option of its kind accepts.
        mistakes: Takes what is wrong with the key.
    """
    if options.get(KEY) != "columns" or KEY not in given:
        return node
    names = _names(given[KEY], below(path, KEY), mistakes)
    places = tuple(place.removeprefix(f"{path}.") for place, _, _ in names)
    columns, ports = tuple(column for _, column, _ in names), tuple(port for _, _, port in names)
    if node.inputs is not None or not names:
        return node
    return dataclasses.replace(node, inputs=Inputs(columns, ports, places=places))


def _names(value: Any, place: str, mistakes: Mistakes) -> list[tuple[str, str, str]]:
    """Returns the place, the column and the database's column of each part of a key."""
    if isinstance(value, str):
        return [(place, value, value)] if mistakes.is_name(value, place) else []
    if value in ([], {}):
        mistakes.add(place, "no_inputs", "a key has at least one column")
    if isinstance(value, list):
        named = ((below(place, at), column) for at, column in enumerate(value))
        found = [(at, mistakes.name(column, at, "a column's name")) for at, column in named]
        return [(at, column, column) for at, column in found if column is not None]
    if not isinstance(value, dict):
        return []  # reported with the node's other options
    parts = []
    for column, name in value.items():
        at = below(place, column)
        text = mistakes.text(name, at, "the name of the table's column")
        if mistakes.is_name(column, at) and text is not None:
            parts.append((at, column, text))
    return parts
