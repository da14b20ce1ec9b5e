"""``labels``: the classes that a model or a vote tells apart, and whether members of a vote agree on them."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from beam_ensembles.errors import listed
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.types import INT64, STRING, Type


def check_labels(node: NodeView) -> Type | None:
    """Checks a node's ``labels`` (``bad_labels``).

    Returns:
        The type of a label, or None where the node has no labels or wrong ones.
    """
    labels = node.option("labels")
    if not isinstance(labels, list):
        return None
    if not _are_labels(labels):
        text = "labels are texts or whole numbers of 64 bits, all of one kind (quote texts)"
        node.problem("bad_labels", "labels", text)
        return None
    twice = next((label for label, count in collections.Counter(labels).items() if count > 1), None)
    if twice is not None:
        node.problem("bad_labels", "labels", f"the label {twice!r} stands there twice")
        return None
    return STRING if isinstance(labels[0], str) else INT64


def _are_labels(labels: list[Any]) -> bool:
    return bool(labels) and (all(isinstance(x, str) for x in labels) or all(_is_int64(x) for x in labels))


def _is_int64(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def labels_of(makers: Mapping[str, NodeSpec]) -> dict[str, tuple[Any, ...]]:
    """Gives the classes of columns, in their order, where the node that makes one says them.

    Args:
        makers: The node that makes each column.
    """
    found: dict[str, tuple[Any, ...] | None] = {}
    for maker in makers.values():  # one node makes many columns, and its labels are many
        if maker.name not in found:
            labels = _labels_of(maker)
            found[maker.name] = None if labels is None else tuple(labels)
    known = {column: found[maker.name] for column, maker in makers.items()}
    return {column: labels for column, labels in known.items() if labels is not None}


def check_sets(node: NodeView) -> None:
    """Makes sure that a vote and its members tell the same classes apart, where they say them (``label_mismatch``)."""
    agreed: Sequence[Any] | None = _labels_of(node.spec)
    owner = "the vote"
    known = labels_of(node.makers)
    same: dict[str, bool] = {}  # by node: a vote may read one member very often, and classes are many
    for index, column in enumerate(node.spec.columns):
        member, found = node.makers.get(column), known.get(column)
        if member is None or found is None:
            continue
        if agreed is None:
            agreed, owner = found, f"'{member.name}'"
            continue
        if member.name not in same:
            same[member.name] = set(found) == set(agreed)
        if not same[member.name]:
            text = (
                f"the classes of '{member.name}' are {_shown(found)}, those of {owner} are {_shown(agreed)}"
            )
            node.problem("label_mismatch", f"inputs[{index}]", text)


def check_orders(node: NodeView) -> None:
    """Makes sure that the probabilities of a vote's members can be put into one order (``label_mismatch``).

    Members that say their classes in another order than the vote, or than the first one that says them, are put into
    that order (``order_of``). Then the others must say theirs too: nothing tells which of the orders they have.
    """
    known = labels_of(node.makers)
    agreed = _agreed(_labels_of(node.spec), node.spec.columns, known)
    first = {node.makers[column].name: column for column in reversed(node.spec.columns) if column in known}
    reordered = {column for column in first.values() if _is_reordered(known[column], agreed)}
    other = next((column for column in node.spec.columns if column in reordered), None)
    if agreed is None or other is None:
        return
    for index, column in enumerate(node.spec.columns):
        if column not in known:
            maker = node.makers.get(column)
            todo = "put them all into one order" if maker is None else f"give '{maker.name}' its 'labels'"
            text = (
                f"nothing says in which order the classes of '{column}' are, and those of '{other}' are "
                f"{_shown(known[other])} where the vote has {_shown(agreed)}; {todo}"
            )
            node.problem("label_mismatch", f"inputs[{index}]", text)


def order_of(
    column: str, own: Sequence[Any] | None, columns: Sequence[str], known: Mapping[str, Sequence[Any]]
) -> list[int] | None:
    """Gives which of a member's probabilities stand where in the vote; None where they are in its order already.

    Args:
        column: The member.
        own: The vote's own labels, or None.
        columns: All members.
        known: The classes of those that say them.
    """
    found, agreed = known.get(column), _agreed(own, columns, known)
    if found is None or agreed is None or not _is_reordered(found, agreed):
        return None
    places = {label: at for at, label in enumerate(found)}
    return [places[label] for label in agreed]


def _agreed(
    own: Sequence[Any] | None, columns: Sequence[str], known: Mapping[str, Sequence[Any]]
) -> Sequence[Any] | None:
    """Gives the order that a vote keeps to: its own labels, else those of the first member that says them."""
    return own if own is not None else next((known[column] for column in columns if column in known), None)


def _is_reordered(found: Sequence[Any] | None, agreed: Sequence[Any] | None) -> bool:
    if found is None or agreed is None:
        return False
    return list(found) != list(agreed) and set(found) == set(agreed)


def _labels_of(node: NodeSpec) -> list[Any] | None:
    labels = node.options.get("labels") if node.kind in ("model", "combine") else None
    return labels if isinstance(labels, list) and _are_labels(labels) else None


def _shown(labels: Sequence[Any]) -> str:
    return listed([str(label) for label in itertools.islice(labels, 12)], total=len(labels))
