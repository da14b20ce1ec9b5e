"""The rows of an ensemble, for whoever writes them in a programming language."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Final

from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.class_meanings import LABELS, SCORES, UNKNOWN, declared
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.messages.printable import printable
from beam_ensembles.messages.wording import listed
from beam_ensembles.types import Array, Map, Row, Type

_MOST_CLASSES: Final = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A field of a row.

    Attributes:
        name: Its name in rows.
        type: Its type.
        note: What else there is to say about it, or empty.
    """

    name: str
    type: Type
    note: str = ""

    @property
    def documentation(self) -> str:
        """One line: its name in rows, its type and the note."""
        return printable(f"{self.name}: {self.type}{self.note and f', {self.note}'}")


@dataclasses.dataclass(frozen=True, slots=True)
class EnsembleRows:
    """The rows that go into an ensemble and come out of it.

    Attributes:
        ensemble: The ensemble's name.
        file: The name of its file, without folders.
        description: What the file says about it, or empty.
        inputs: The columns that the ensemble reads.
        outputs: The columns that the ensemble adds.
        fields: Fields of the rows that the ensemble does not read, and that stay.
    """

    ensemble: str
    file: str
    description: str
    inputs: tuple[Column, ...]
    outputs: tuple[Column, ...]
    fields: tuple[Column, ...] = ()

    @property
    def incoming(self) -> tuple[Column, ...]:
        """The fields of a row that goes in."""
        return (*self.fields, *self.inputs)

    @property
    def scored(self) -> tuple[Column, ...]:
        """The fields of a scored row."""
        return (*self.incoming, *self.outputs)


def rows_of(graph: EnsembleGraph, file: str, fields: Sequence[tuple[str, Type]] = ()) -> EnsembleRows:
    """Returns the rows of a checked ensemble.

    Args:
        graph: The ensemble.
        file: The name of its file, without folders.
        fields: Fields of the rows that the ensemble does not read, and that stay.
    """
    makers = {column: node for node in graph.nodes for column in node.outputs}
    return EnsembleRows(
        graph.spec.name,
        file,
        graph.spec.description,
        tuple(Column(name, type_) for name, type_ in graph.spec.inputs),
        tuple(Column(name, type_, _note(name, makers[name])) for name, type_ in graph.outputs),
        tuple(Column(name, type_, "not read by the ensemble") for name, type_ in fields),
    )


def nested_rows(columns: Sequence[Column]) -> Iterator[tuple[tuple[str, ...], Row]]:
    """Yields each row within columns, inner ones first, with its path: the column, then fields."""
    for column in columns:
        yield from _nested(column.type, (column.name,))


def _nested(type_: Type, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Row]]:
    if isinstance(type_, Array):
        yield from _nested(type_.element, path)
    elif isinstance(type_, Map):
        yield from _nested(type_.value, path)
    elif isinstance(type_, Row):
        for name, field in type_.fields:
            yield from _nested(field, (*path, name))
        yield path, type_


def _note(name: str, node: CheckedNode) -> str:
    found = f"added by node '{node.spec.name}'"
    meaning = declared(node.spec, node.told).get(name, UNKNOWN)
    if meaning.classes is None or meaning.holds not in (LABELS, SCORES):
        return found
    shown = listed([str(one) for one in meaning.classes], _MOST_CLASSES)
    return f"{found}: {'one of' if meaning.holds == LABELS else 'in the order'} {shown}"
