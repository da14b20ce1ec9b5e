"""A chunk of a file's rows, whatever the file's format: what a stage reads columns from and writers take rows from."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from beam_ensembles.columns.rows import ERROR_FIELDS
from beam_ensembles.columns.timestamps import with_instants
from beam_ensembles.errors import NodeError
from beam_ensembles.types import Type, has_instants


@dataclasses.dataclass(frozen=True, slots=True)
class Fault:
    """A row of the file that could not even be read.

    Attributes:
        number: Which row of the data it is, from 1.
        element: The row as far as it could be read, or its text.
        error: Why.
    """

    number: int
    element: Any
    error: NodeError


class Chunk(Sequence[dict[str, Any]]):
    """Some consecutive rows of a file; as a sequence, its rows as mappings of fields to values.

    Args:
        numbers: Which row of the data each is, from 1.
        faults: The rows in between that could not be read.
    """

    def __init__(self, numbers: Sequence[int], faults: Sequence[Fault] = ()) -> None:
        self.numbers = numbers
        self.faults = faults

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.rows(range(len(self))[index])
        return self.rows([index])[0]

    @abc.abstractmethod
    def column(self, field: str) -> list[Any]:
        """Returns a field of every row as the ensemble reads it; a value that is not as declared stays as it is."""

    @abc.abstractmethod
    def rows(self, at: Sequence[int]) -> list[dict[str, Any]]:
        """Returns some rows as mappings of fields to values, in the order of the file's fields."""

    @abc.abstractmethod
    def cells(self, fields: Sequence[str], at: Sequence[int]) -> list[Sequence[Any]]:
        """Returns some rows' fields as the cells of a CSV file, one sequence a field."""

    @abc.abstractmethod
    def arrays(self, schema: pa.Schema, at: Sequence[int]) -> list[pa.Array]:
        """Returns some rows' fields as Arrow arrays of a schema."""


class Reader(Protocol):
    """Reads a file of rows.

    Attributes:
        fields: The rows' fields in order, with their types where the format says them.
        total: How much there is to read, in bytes or rows.
        done: How much of that has been read.
    """

    fields: Mapping[str, Type | None]
    total: int
    done: int

    @property
    def schema(self) -> pa.Schema:
        """The fields as Arrow's, to write them to a typed file."""

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Reads the rows, at most ``size`` at once."""


class Writer(Protocol):
    """Writes a file of rows."""

    def write(self, chunk: Chunk, at: Sequence[int], added: Sequence[list[Any]]) -> None:
        """Writes some rows of a chunk with the columns added to each (one list per column)."""

    def close(self) -> None:
        """Writes what is left; the file is whole then."""


@dataclasses.dataclass(frozen=True)
class ChunkRows:
    """How a stage reads chunks (a ``columns.rows.RowForm``), and how their rows look in both outputs.

    Attributes:
        added: Names of the added columns.
        inputs: Type of each field that the ensemble reads.
    """

    added: tuple[str, ...]
    inputs: Mapping[str, Type] = dataclasses.field(default_factory=dict)

    def values(self, elements: Any, field: str) -> list[Any]:
        """Returns one field of every row of a chunk; points in time are Beam's, as in a pipeline."""
        found: list[Any] = elements.column(field)
        has_any = field in self.inputs and has_instants(self.inputs[field])
        return [with_instants(value) for value in found] if has_any else found

    def extend(self, elements: Sequence[Any], added: Sequence[Sequence[Any]]) -> list[Any]:
        """Returns rows with the added columns."""
        if not added:
            return list(elements)
        answers = zip(*added, strict=True)
        return [
            {**row, **dict(zip(self.added, values, strict=True))}
            for row, values in zip(elements, answers, strict=True)
        ]

    def failed(self, element: Any, details: tuple[str, str, str, str, str]) -> dict[str, Any]:
        """Returns what is written about a failed row; the stack of the model's code is left out."""
        return dict(zip(ERROR_FIELDS[:-1], (element, *details[:-1]), strict=True))

    def row(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Returns a row that is the value of a field: files hold it as a mapping."""
        return fields
