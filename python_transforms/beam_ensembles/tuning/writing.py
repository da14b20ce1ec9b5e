"""Numbers put into the text of an ensemble file: everything else of it stays as it is, to the letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml

from beam_ensembles.errors import EnsembleError
from beam_ensembles.spec.document import read_document
from beam_ensembles.spec.yaml_scalars import plain_value

Place = tuple[str | int, ...]
"""The keys and indices that lead to a value."""
_MARK: Final = "\ufeff"


def with_values(text: str, changes: Mapping[Place, str]) -> str:
    """Returns a file's text with other values.

    Args:
        text: YAML or JSON that has been read as an ensemble file.
        changes: The text of each value by its place. A list (``[0.5, 0.5]``) changes the items of one of the same
            length; a value that is not there is added to its mapping.

    Raises:
        EnsembleError: The text cannot be changed so.
    """
    mark, body = (_MARK, text[1:]) if text.startswith(_MARK) else ("", text)
    root = yaml.compose(body, Loader=yaml.SafeLoader)
    edits: list[tuple[int, int, str]] = []
    for place, value in changes.items():
        edits += _edits(body, root, place, value)
    for start, end, new in sorted(edits, reverse=True):
        body = body[:start] + new + body[end:]
    _check(text, body, changes)
    return mark + body


def _edits(text: str, root: Any, place: Place, value: str) -> list[tuple[int, int, str]]:
    parent = _at(root, place[:-1])
    if parent is None:
        raise EnsembleError(f"the file has no '{place[0]}' to write '{place[-1]}' to; add '{place[0]}: {{}}'")
    node = _child(parent, place[-1])
    if node is None:
        return [_added(text, parent, str(place[-1]), value)]
    items = [one.strip() for one in value[1:-1].split(",")] if value.startswith("[") else None
    if items is not None and isinstance(node, yaml.SequenceNode) and len(node.value) == len(items):
        return [
            (one.start_mark.index, one.end_mark.index, item)
            for one, item in zip(node.value, items, strict=True)
        ]
    return [(node.start_mark.index, node.end_mark.index, value)]


def _at(node: Any, place: Place) -> Any:
    for key in place:
        node = None if node is None else _child(node, key)
    return node


def _child(node: Any, key: str | int) -> Any:
    if isinstance(node, yaml.MappingNode):
        return next((value for name, value in node.value if name.value == key), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return node.value[key]
    return None


def _added(text: str, parent: Any, key: str, value: str) -> tuple[int, int, str]:
    """Returns the edit that adds a key to a mapping."""
    if not isinstance(parent, yaml.MappingNode):
        raise EnsembleError(f"'{key}' cannot be added to the file; write it by hand: {key}: {value}")
    if parent.flow_style:
        quoted = f'"{key}"' if text.lstrip().startswith("{") else key
        at = parent.value[-1][1].end_mark.index if parent.value else parent.end_mark.index - 1
        return at, at, f"{', ' if parent.value else ''}{quoted}: {value}"
    first_key, first = parent.value[0]
    end = text.find(
        "\n", first.end_mark.index if isinstance(first, yaml.ScalarNode) else first_key.start_mark.index
    )
    if end < 0 or not isinstance(first, yaml.ScalarNode):
        at = first_key.start_mark.index
        return at, at, f"{key}: {value}\n{' ' * first_key.start_mark.column}"
    return end, end, f"\n{' ' * first_key.start_mark.column}{key}: {value}"


def _check(before: str, after: str, changes: Mapping[Place, str]) -> None:
    """Reads the new text, which must say what the old one does but for the changes.

    Raises:
        EnsembleError: It does not.
    """
    wanted, found = read_document(before).data, read_document(after)
    for place, value in changes.items():
        at = wanted
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = _read(value)
    if found.problems or found.data != wanted:
        text = ", ".join(f"{'.'.join(map(str, place))}: {value}" for place, value in changes.items())
        raise EnsembleError(f"the numbers cannot be put into the file; write them by hand: {text}")


def _read(value: str) -> Any:
    if value.startswith("["):
        return [plain_value(one.strip()) for one in value[1:-1].split(",")]
    return value[1:-1] if value.startswith('"') else plain_value(value)


def places_missing(text: str, places: Sequence[Place]) -> list[Place]:
    """Returns the places that a file does not have."""
    root = yaml.compose(text.removeprefix(_MARK), Loader=yaml.SafeLoader)
    return [place for place in places if _at(root, place) is None]
