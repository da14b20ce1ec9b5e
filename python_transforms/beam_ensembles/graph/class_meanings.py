"""What the values of a column mean where they are about classes: which classes, in which order.

A model's file says that when an ensemble is checked, or the model itself when a worker loads it. Votes, averages and
the functions on scores work by position, so they compare what is known of their columns, both times in the same way.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from beam_ensembles.errors import listed
from beam_ensembles.types import row_shape

if TYPE_CHECKING:
    from beam_ensembles.graph.kinds import NodeView
    from beam_ensembles.spec.model import NodeSpec

Classes = tuple[Any, ...]

SCORES: Final = "scores"
"""A column has a number for each class, in the order of the classes."""
LABELS: Final = "labels"
"""A column has one of the classes."""
PLACES: Final = "places"
"""A column has the positions of classes, counted from 0."""

SORTED: Final = "sorted"
"""A column has the scores of a row's best classes, which differ from row to row."""


@dataclasses.dataclass(frozen=True, slots=True)
class Meaning:
    """The classes that a column is about, and whether it may hold probabilities.

    Attributes:
        holds: ``SCORES``, ``LABELS``, ``PLACES`` or ``SORTED``; empty where that is not known.
        classes: The classes in their order; None where they are not known.
        are_codes: Whether the classes are a model's own numbers, which may stand for other labels.
        is_open: Whether the worker that loads the model may know the classes.
        refused: Why scores are not probabilities; empty where they may be.
    """

    holds: str = ""
    classes: Classes | None = None
    are_codes: bool = False
    is_open: bool = False
    refused: str = ""


UNKNOWN: Final = Meaning()
BEST_FIRST: Final = Meaning(SORTED, refused="its scores stand best first, not in the order of the classes")


def meanings_of(member: Any) -> Mapping[str, Meaning]:
    """Returns what a loaded member, or one that it calls as its ``member``, knows of its columns."""
    while member is not None:
        found: Mapping[str, Meaning] | None = getattr(member, "meanings", None)
        if found is not None:
            return found
        member = getattr(member, "member", None)
    return {}


def of_classes(
    classes: Sequence[Any] | None, holds: str, refused: str = "", *, is_open: bool = False
) -> Meaning:
    """Returns the meaning of a column of a model that says its classes: texts, or whole numbers of any kind.

    Args:
        classes: What the model says; None, or values that are neither, where it says nothing that can be compared.
        holds: What the column holds.
        refused: Why its scores are not probabilities.
        is_open: Whether the loaded model may say more.
    """
    if classes and all(isinstance(one, str) for one in classes):
        return Meaning(holds, tuple(map(str, classes)), refused=refused)
    if classes and all(_is_whole(one) for one in classes):
        return Meaning(holds, tuple(map(int, classes)), are_codes=True, refused=refused)
    return Meaning(holds, is_open=is_open, refused=refused)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and value.is_integer())


def are_labels(labels: Any) -> bool:
    """Whether something is a list of labels: of texts, or of whole numbers of 64 bits."""
    if not isinstance(labels, list) or not labels:
        return False
    return all(isinstance(one, str) for one in labels) or all(_is_int64(one) for one in labels)


def _is_int64(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def labels_of(node: NodeSpec) -> list[Any] | None:
    """Returns the ``labels`` of a node of a model or a vote; None where it has none, or wrong ones."""
    labels = node.options.get("labels") if node.kind in ("model", "combine") else None
    return labels if are_labels(labels) else None


def declared(node: NodeSpec, told: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """Returns the meanings of a node's columns: what was told of them, with the classes of the node's ``labels``."""
    labels = labels_of(node)
    if labels is None:
        return dict(told)
    found = dict(told)
    for output in node.outputs:
        meaning = told.get(output.column, UNKNOWN)
        if meaning.holds not in (PLACES, SORTED):
            found[output.column] = Meaning(meaning.holds, tuple(labels), refused=meaning.refused)
    return found


def of_all_outputs(node: NodeSpec, found: Meaning | None) -> dict[str, Meaning]:
    """Returns one meaning for every column that a node gives; none where it is not known."""
    return {} if found is None else {output.column: found for output in node.outputs}


def contradiction(node: NodeSpec, known: Mapping[str, Meaning]) -> str | None:
    """Describes how a node's ``labels`` contradict the classes of its model, both in their order.

    Args:
        node: The node.
        known: What its model says of its columns.
    """
    labels = labels_of(node)
    if labels is None or node.kind != "model":
        return None
    for meaning in known.values():
        if meaning.holds in (SCORES, LABELS) and Agreed(labels, {}).relation(meaning) in (REORDERED, OTHER):
            return (
                f"the node's labels are {shown(labels)}, but the model's classes are {shown(meaning.classes or ())}, "
                "in this order"
            )
    return None


SAME: Final = "same"
REORDERED: Final = "reordered"
OTHER: Final = "other"
UNRELATED: Final = ""
"""How a column's classes are related to agreed ones: nothing is known of them, or they are numbers that may stand for
the agreed ones."""


class Agreed:
    """The classes in the order that a node keeps to, with which those of its columns are compared.

    They are the node's own labels, else those of the first column that says some; texts go before a model's numbers,
    and those before numbers from 0 on, which may stand for anything.

    Args:
        own: The node's labels, or None.
        columns: The meanings of columns.
    """

    def __init__(self, own: Sequence[Any] | None, columns: Mapping[str, Meaning]) -> None:
        self._related: dict[tuple[int, bool], str] = {}
        self.owner, self.classes = "the vote", None if own is None else tuple(own)
        if own is None:
            known = {name: one for name, one in columns.items() if one.classes is not None}
            named = (name for name, one in known.items() if not one.are_codes)
            coded = (name for name, one in known.items() if not _counts_from_0(one.classes))
            self.owner = next(itertools.chain(named, coded, known), "")
            self.classes = known[self.owner].classes if known else None

    def relation(self, meaning: Meaning) -> str:
        """Returns how a column's classes are related to these; a node may read one column often, and classes many."""
        if meaning.classes is None or self.classes is None:
            return UNRELATED
        key = id(meaning.classes), meaning.are_codes
        if key not in self._related:
            self._related[key] = self._relation(meaning.classes, meaning.are_codes)
        return self._related[key]

    def _relation(self, found: Classes, are_codes: bool) -> str:
        if found == self.classes:
            return SAME
        if set(found) == set(self.classes or ()):
            return REORDERED
        is_text = isinstance(next(iter(self.classes or ()), None), str)
        return UNRELATED if are_codes and (is_text or _counts_from_0(found)) else OTHER

    def order(self, meaning: Meaning) -> list[int] | None:
        """Returns which of a column's scores stand where in this order; None where they are in it already."""
        if self.relation(meaning) != REORDERED:
            return None
        places = {label: at for at, label in enumerate(meaning.classes or ())}
        return [places[label] for label in self.classes or ()]


def _counts_from_0(classes: Classes | None) -> bool:
    return classes is not None and classes == tuple(range(len(classes)))


def check_vote(node: NodeView, own: Sequence[Any] | None) -> Classes | None:
    """Reports scores that cannot be put into one order (``label_mismatch``); returns that order, where it is known.

    Scores of the same classes in another order are put into that order. Then all others must say their classes too:
    nothing tells which of the orders they have.
    """
    agreed = Agreed(own, node.meanings)
    known = {column: node.meanings.get(column, UNKNOWN) for column in node.spec.columns}
    relations = {column: agreed.relation(one) for column, one in known.items()}
    moved = next((column for column, relation in relations.items() if relation == REORDERED), None)
    for index, column in enumerate(node.spec.columns):
        if relations[column] == OTHER:
            _report_other(node, index, known[column].classes or (), agreed)
        elif relations[column] == UNRELATED and moved is not None and not known[column].is_open:
            maker = node.makers.get(column)
            todo = "put them all into one order" if maker is None else f"give '{maker.name}' its 'labels'"
            text = (
                f"nothing says in which order the classes of '{column}' are, and those of '{moved}' are "
                f"{shown(known[moved].classes or ())} where the vote has {shown(agreed.classes or ())}; {todo}"
            )
            node.problem("label_mismatch", f"inputs[{index}]", text)
    return agreed.classes


def _report_other(node: NodeView, index: int, found: Classes, agreed: Agreed) -> None:
    owner = "the vote" if agreed.owner == "the vote" else _maker(node, agreed.owner)
    text = (
        f"the classes of {_maker(node, node.spec.columns[index])} are {shown(found)}, those of {owner} are "
        f"{shown(agreed.classes or ())}"
    )
    node.problem("label_mismatch", f"inputs[{index}]", text)


def _maker(node: NodeView, column: str) -> str:
    maker = node.makers.get(column)
    return f"'{column if maker is None else maker.name}'"


def check_given_labels(node: NodeView, own: Sequence[Any] | None) -> None:
    """Reports columns of labels whose classes do not go together, and positions in different orders.

    Labels are compared as they are, so that a model may know fewer classes than another one. Where each of two knows
    some that the other one does not, one of them does not mean what it says. Where the node lists all labels, those of
    each column must be among them.
    """
    check_positions(node)
    values = {column: _values(one) for column, one in node.meanings.items() if one.holds != SCORES}
    agreed = Agreed(own, {column: Meaning(LABELS, one) for column, one in values.items()})
    wanted, fits = frozenset(agreed.classes or ()), dict[int, bool]()
    for index, column in enumerate(node.spec.columns):
        found = values.get(column)
        if found is None or agreed.classes is None:
            continue
        if id(found) not in fits:
            fits[id(found)] = wanted.issuperset(found) or (own is None and wanted.issubset(found))
        if not fits[id(found)]:
            _report_other(node, index, found, agreed)


def _values(meaning: Meaning) -> Classes | None:
    """Returns what a column of labels or positions may hold."""
    if meaning.classes is None or meaning.holds != PLACES:
        return meaning.classes
    return tuple(range(len(meaning.classes)))


def check_positions(node: NodeView) -> Meaning | None:
    """Reports columns of scores or positions whose classes stand in different orders (``label_mismatch``).

    Returns:
        What follows for a column that has such a value for each of their positions; None where nothing is known.
    """
    taken = {column: one for column, one in node.meanings.items() if _is_by_position(node, column)}
    agreed = Agreed(None, taken)
    for index, column in enumerate(node.spec.columns):
        if column in taken and agreed.relation(taken[column]) in (REORDERED, OTHER):
            text = (
                f"'{node.spec.target}' goes by position, but the classes of {_maker(node, column)} are "
                f"{shown(taken[column].classes or ())}, those of {_maker(node, agreed.owner)} are "
                f"{shown(agreed.classes or ())}; 'combine: soft_vote' puts probabilities into one order, "
                "'apply: labels' gives positions their names"
            )
            node.problem("label_mismatch", f"inputs[{index}]", text)
    if not taken:
        return None
    holds = PLACES if all(one.holds == PLACES for one in taken.values()) else SCORES
    of_owner = taken.get(agreed.owner, UNKNOWN)
    refused = next((one.refused for one in taken.values() if one.refused), "")
    is_open = agreed.classes is None and any(one.is_open for one in taken.values())
    return Meaning(holds, agreed.classes, of_owner.are_codes, is_open, refused)


def _is_by_position(node: NodeView, column: str) -> bool:
    meaning, type_ = node.meanings[column], node.inputs.get(column)
    if meaning.holds or meaning.classes is None or type_ is None:
        return meaning.holds in (SCORES, PLACES)
    return row_shape(type_) == (len(meaning.classes),)


def shown(labels: Sequence[Any]) -> str:
    """Lists classes for a message, the first of many."""
    return listed([str(label) for label in itertools.islice(labels, 12)], total=len(labels))
