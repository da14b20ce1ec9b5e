"""The rows of a PCollection: which fields they have, how columns are read from them and how they grow.

Two forms: rows of other languages are tuples in the order of a schema (``row_coder``); rows of Python pipelines are
objects with one attribute a field (``beam.Row``, named tuples, data classes). Either may be the value of a pair, and
then the key travels along.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import apache_beam as beam

from beam_ensembles.beam_repairs.row_coder import getter, row_class
from beam_ensembles.columns.convert import reader
from beam_ensembles.columns.logical_types import reading

ERROR_FIELDS = ("element", "ensemble", "node", "code", "msg", "stack")
"""Fields of a row on the error output, in order; ``element`` is the input row."""


class RowForm(Protocol):
    """How to read the fields of the elements of a PCollection and how to build the elements of its outputs."""

    def values(self, elements: Sequence[Any], field: str) -> list[Any]:
        """Returns one field of every element."""

    def extend(self, elements: Sequence[Any], added: Sequence[Sequence[Any]]) -> list[Any]:
        """Returns the elements of the output: kept fields and added columns (one sequence per column)."""

    def failed(self, element: Any, details: tuple[str, str, str, str, str]) -> Any:
        """Returns the element of the error output; ``details`` are ensemble, node, code, msg, stack."""

    def row(self, fields: dict[str, Any]) -> Any:
        """Returns a row that is the value of a field, in the order of its type."""


@dataclasses.dataclass(frozen=True)
class TupleRows:
    """Rows that are tuples in the order of a schema.

    Attributes:
        fields: Names of the fields.
        positions: For each field of the output where it is: below ``len(fields)`` a field of the input, from there on
            an added column.
        output: Names of the output's fields.
        readers: How the values of some fields are read (``columns.logical_types.reader_of``).
    """

    fields: tuple[str, ...]
    positions: tuple[int, ...]
    output: tuple[str, ...]
    readers: Mapping[str, bytes] = dataclasses.field(default_factory=dict)

    def values(self, elements: Sequence[Any], field: str) -> list[Any]:
        found = list(map(operator.itemgetter(self.fields.index(field)), elements))
        return _read(found, self.readers.get(field))

    def extend(self, elements: Sequence[Any], added: Sequence[Sequence[Any]]) -> list[Any]:
        make = row_class(self.output)._make
        whole: Iterable[tuple[Any, ...]] = map(operator.add, elements, _across(added, len(elements)))
        if self.positions != tuple(range(len(self.fields) + len(added))):
            whole = map(getter(self.positions), whole)
        return list(map(make, whole))

    def failed(self, element: Any, details: tuple[str, str, str, str, str]) -> Any:
        return row_class(ERROR_FIELDS)._make((row_class(self.fields)._make(element), *details))

    def row(self, fields: dict[str, Any]) -> Any:
        return row_class(tuple(fields))._make(fields.values())


@dataclasses.dataclass(frozen=True)
class ObjectRows:
    """Rows of a Python pipeline: objects with one attribute per field. The outputs are ``beam.Row``.

    Attributes:
        kept: Names of the fields that the output keeps.
        added: Names of the columns that the output gains.
        readers: How the values of some fields are read (``columns.logical_types.reader_of``).
    """

    kept: tuple[str, ...]
    added: tuple[str, ...]
    readers: Mapping[str, bytes] = dataclasses.field(default_factory=dict)

    def values(self, elements: Sequence[Any], field: str) -> list[Any]:
        try:
            found = list(map(reader(field), elements))
        except AttributeError:
            found = [getattr(element, field, None) for element in elements]
        return _read(found, self.readers.get(field))

    def extend(self, elements: Sequence[Any], added: Sequence[Sequence[Any]]) -> list[Any]:
        kept, width = self.kept, len(self.kept)
        fields = [
            element.__dict__.copy()
            if type(element) is beam.Row and len(element.__dict__) == width
            else {name: getattr(element, name, None) for name in kept}
            for element in elements
        ]
        for name, values in zip(self.added, added, strict=True):
            for row, value in zip(fields, values, strict=True):
                row[name] = value
        return _rows(fields)

    def failed(self, element: Any, details: tuple[str, str, str, str, str]) -> Any:
        return _row(dict(zip(ERROR_FIELDS, (element, *details), strict=True)))

    def row(self, fields: dict[str, Any]) -> Any:
        return _row(fields)


@dataclasses.dataclass(frozen=True)
class KeyedRows:
    """Pairs of a key and a row: the key goes with the row to either output."""

    rows: RowForm

    def values(self, elements: Sequence[Any], field: str) -> list[Any]:
        return self.rows.values([row for _, row in elements], field)

    def extend(self, elements: Sequence[Any], added: Sequence[Sequence[Any]]) -> list[Any]:
        rows = self.rows.extend([row for _, row in elements], added)
        return list(zip(map(operator.itemgetter(0), elements), rows, strict=True))

    def failed(self, element: Any, details: tuple[str, str, str, str, str]) -> Any:
        key, row = element
        return key, self.rows.failed(row, details)

    def row(self, fields: dict[str, Any]) -> Any:
        return self.rows.row(fields)


def _read(values: list[Any], how: bytes | None) -> list[Any]:
    if how is None:
        return values
    read = reading(how)
    return [None if value is None else read(value) for value in values]


def _across(columns: Sequence[Sequence[Any]], count: int) -> Iterator[tuple[Any, ...]]:
    return zip(*columns, strict=True) if columns else iter([()] * count)


def _rows(fields: Sequence[dict[str, Any]]) -> list[Any]:
    """Returns ``beam.Row``s, without going through their keyword arguments, which costs four times as much."""
    rows: list[Any] = list(map(object.__new__, itertools.repeat(beam.Row, len(fields))))
    for row, values in zip(rows, fields, strict=True):
        row.__dict__ = values
    return rows


def _row(fields: dict[str, Any]) -> Any:
    return _rows([fields])[0]
