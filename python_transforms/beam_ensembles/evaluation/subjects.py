"""The subjects of an evaluation: the ensemble, its models and combiners, and where each has its answer."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from beam_ensembles.errors import EnsembleError, nearest
from beam_ensembles.evaluation.labels import LIST, NUMBER, TEXT, TRUTH, WHOLE
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.class_meanings import LABELS, PLACES, SCORES, SORTED, UNKNOWN, Meaning, labels_of
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.types import Array, Row, Scalar, Type, dtype_of, row_shape

LABEL_TASK: Final = "labels"
NUMBER_TASK: Final = "numbers"
LIST_TASK: Final = "lists"
TASKS: Final = (LABEL_TASK, NUMBER_TASK, LIST_TASK)

ENSEMBLE: Final = "ensemble"
PROBABILITIES: Final = "probabilities of "
"""Before a vote's name: the column of probabilities that it would have if its file asked for it."""
_NO_ANSWER: Final = frozenset(("confidence", "agreement", "unanimous"))
"""Outputs that say how sure a node is, not what it answers."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """Where a node's answer is among its columns.

    Attributes:
        label: The column of the class, of the number, or of the ranked list; None where only scores tell the class.
        scores: The column of a probability per class, or None.
        classes: The classes of ``scores`` in their order.
        positive: The column of the positive class's probability, or None.
        places: The classes that ``label`` counts, where it holds positions.
        field: The field of a ranked list's rows that names the candidate; empty where its items do.
    """

    label: str | None = None
    scores: str | None = None
    classes: tuple[object, ...] = ()
    positive: str | None = None
    places: tuple[object, ...] = ()
    field: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is in."""
        return tuple(name for name in (self.label, self.scores, self.positive) if name is not None)


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """One thing that is evaluated.

    Attributes:
        name: Its name: the ensemble's or a node's.
        role: ``ensemble``, or the key of the node that says what it runs.
        node: The node that makes the columns.
        answer: Where its answer is.
    """

    name: str
    role: str
    node: str
    answer: Answer


class Columns:
    """The columns of an ensemble, and what is known of them once its models are loaded.

    Args:
        graph: The ensemble.
        meanings: What the loaded models say of the columns.
        kind: What the labels are.
    """

    def __init__(self, graph: EnsembleGraph, meanings: Mapping[str, Meaning], kind: str) -> None:
        self._graph, self._meanings, self._kind = graph, meanings, kind
        self.makers = {column: node for node in graph.nodes for column in node.outputs}
        self._ports = {
            output.column: output.port or output.column
            for node in graph.nodes
            for output in node.spec.outputs
        }

        self._named = {
            column: tuple(labels)
            for node in graph.nodes
            if node.spec.target == "soft_vote" and (labels := labels_of(node.spec)) is not None
            for column in node.spec.columns
        }

        votes = [node for node in graph.nodes if node.spec.target == "soft_vote"]
        self._voted = {column for node in votes for column in node.spec.columns}

    def answer(self, columns: Iterable[str]) -> Answer | None:
        """Returns the answer that is in some columns of one node; None where there is none of the label's kind."""
        names = [name for name in columns if self._ports.get(name) not in _NO_ANSWER]
        if self._kind == LIST:
            return next((found for name in names if (found := self._list(name))), None)
        if self._kind == NUMBER:
            return next((Answer(label=name) for name in names if self._is_number(name)), None)
        label = next((name for name in names if self._is_label(name)), None)
        scores = next((name for name in names if self.classes(name)), None)
        if label is not None or scores is not None:
            places = self._places(label) if label else ()
            return Answer(label, scores, self.classes(scores) if scores else (), places=places)
        return next((Answer(positive=name) for name in names if self._is_fraction(name)), None)

    def classes(self, column: str) -> tuple[object, ...]:
        """Returns the classes of a column of scores in their order; none where it is no such column."""
        type_, meaning = self._type(column), self._meaning(column)
        shape = row_shape(type_) if type_ is not None else ()
        dtype = dtype_of(type_) if type_ is not None else None
        if dtype is None or dtype.kind != "f" or len(shape) != 1 or shape[0] < 2:
            return ()
        if meaning.holds not in ("", SCORES) or meaning.refused:
            return ()
        counted = None
        if meaning.holds == SCORES or column in self._voted or self._ports.get(column) == "probabilities":
            counted = {WHOLE: tuple(range(shape[0])), TRUTH: (False, True)}.get(self._kind)
        classes = meaning.classes
        if classes is None or meaning.are_codes:  # a vote that reads it may name them
            classes = self._named.get(column) or (classes if self._kind == WHOLE and classes else counted)
        return () if classes is None or len(classes) != shape[0] else self._ours(classes)

    def _ours(self, classes: Sequence[object]) -> tuple[object, ...]:
        """Returns classes as the label has them; none where they are of another kind."""
        if self._kind == TRUTH:  # a model's truths are known as 0 and 1
            return tuple(map(bool, classes)) if all(one in (0, 1) for one in classes) else ()
        kind = {TEXT: str, WHOLE: int}[self._kind]
        return tuple(classes) if all(isinstance(one, kind) for one in classes) else ()

    def _type(self, column: str) -> Type | None:
        node = self.makers.get(column)
        return node.outputs[column].required() if node is not None else None

    def _meaning(self, column: str) -> Meaning:
        return self._meanings.get(column, UNKNOWN)

    def _is_label(self, column: str) -> bool:
        type_, meaning = self._type(column), self._meaning(column)
        wanted = {TEXT: ("string",), WHOLE: ("int64", "int32"), TRUTH: ("boolean",)}[self._kind]
        if not isinstance(type_, Scalar) or meaning.holds in (SCORES, SORTED):
            return False
        if meaning.holds == PLACES and meaning.classes is not None and type_.name in ("int64", "int32"):
            return bool(self._ours(meaning.classes))
        if type_.name not in wanted or self.makers[column].spec.kind == "route":
            return False
        if meaning.holds == LABELS and meaning.classes is not None:
            return bool(self._ours(meaning.classes))
        return True

    def _places(self, column: str) -> tuple[object, ...]:
        meaning = self._meaning(column)
        return self._ours(meaning.classes or ()) if meaning.holds == PLACES else ()

    def _is_number(self, column: str) -> bool:
        type_ = self._type(column)
        dtype = dtype_of(type_) if type_ is not None else None
        return dtype is not None and dtype.kind in "fiu" and isinstance(type_, Scalar)

    def _is_fraction(self, column: str) -> bool:
        type_ = self._type(column)
        return isinstance(type_, Scalar) and type_.name in ("double", "float")

    def _list(self, column: str) -> Answer | None:
        type_ = self._type(column)
        if not isinstance(type_, Array) or (dtype_of(type_) is not None and row_shape(type_)[1:]):
            return None
        item = type_.element.required()
        if isinstance(item, Scalar) and item.name in ("string", "int64", "int32"):
            return Answer(label=column)
        if isinstance(item, Row):
            for name, inner in item.fields:
                if isinstance(inner, Scalar) and inner.name in ("string", "int64", "int32"):
                    return Answer(label=column, field=name)
        return None


def ensemble_subject(
    graph: EnsembleGraph, columns: Columns, asked: str | None, own: Mapping[str, tuple[object, ...]]
) -> Subject | None:
    """Returns the ensemble as a subject: its first output that is an answer, and what belongs to it.

    Args:
        graph: The ensemble.
        columns: Its columns.
        asked: The output that was asked for, or None.
        own: The classes of votes whose probabilities can be computed, by the vote's name.

    Raises:
        EnsembleError: There is no output of the name, or it is not an answer of the label's kind.
    """
    outputs = [name for name, _ in graph.outputs if name in columns.makers]
    if asked is not None:
        if asked not in outputs:
            raise EnsembleError(f"the ensemble has no output '{asked}'{nearest(asked, outputs)}")
        found = columns.answer([asked])
        if found is None:
            type_ = columns.makers[asked].outputs[asked]
            raise EnsembleError(f"the output '{asked}' is {type_}, which cannot be compared with the label")
        return Subject(graph.spec.name, ENSEMBLE, columns.makers[asked].spec.name, found)
    for output in outputs:
        found = columns.answer([output])
        if found is None:
            continue
        node = columns.makers[output]
        whole = columns.answer([output, *node.outputs]) if found.positive is None else found
        return Subject(graph.spec.name, ENSEMBLE, node.spec.name, with_own(whole or found, node, own))
    return None


def are_votes(node: CheckedNode) -> bool:
    """Whether the columns that a node reads are answers themselves: not where it makes features of them."""
    return node.spec.kind == "combine" and not node.kind.members_have_places


def with_own(answer: Answer, node: CheckedNode, own: Mapping[str, tuple[object, ...]]) -> Answer:
    """Returns an answer with the probabilities that a vote can compute where its file does not ask for them."""
    classes = own.get(node.spec.name)
    if answer.scores is not None or classes is None:
        return answer
    return dataclasses.replace(answer, scores=PROBABILITIES + node.spec.name, classes=classes)


def member_subjects(
    graph: EnsembleGraph, columns: Columns, own: Mapping[str, tuple[object, ...]]
) -> list[Subject]:
    """Returns the models and combiners whose answers can be compared with the label, and what combiners read."""
    read = {name for node in graph.nodes if are_votes(node) for name in node.spec.columns}
    found = []
    for node in graph.nodes:
        is_asked = node.spec.kind == "model" or (node.spec.kind == "combine" and not node.kind.gives_features)
        answer = columns.answer(name for name in node.outputs if is_asked or name in read)
        if answer is not None:
            answer = with_own(answer, node, own)
            found.append(Subject(node.spec.name, node.spec.kind, node.spec.name, answer))
    return found
