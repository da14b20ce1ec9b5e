"""Arrow record batches in and out: from other languages as bytes, from Python pipelines as they are.

What the ensemble does not read stays in Arrow's memory on its way from the input to the outputs.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
from apache_beam.utils.timestamp import MAX_TIMESTAMP, MIN_TIMESTAMP

from beam_ensembles.columns.arrow_checks import check_batch, check_stream
from beam_ensembles.columns.arrow_rows import ArrowRows, Schemas
from beam_ensembles.columns.arrow_sizes import has_dictionary, unfolded_sizes
from beam_ensembles.columns.arrow_types import (
    EVENT_TIME,
    beyond_micros,
    finer_than_micros,
    in_wire_layout,
    taken,
)
from beam_ensembles.columns.from_arrow import values_with_bad_texts
from beam_ensembles.columns.logical_types import reading
from beam_ensembles.columns.to_arrow import array_of, array_of_values
from beam_ensembles.errors import EnsembleError

Element: TypeAlias = Any
"""Many rows: ``bytes`` that hold an Arrow IPC stream of one record batch, or a ``RecordBatch``, or a ``Table``."""

_MALFORMED: Final = (pa.ArrowException, OSError, ValueError, struct.error)
_LONGEST_MESSAGE: Final = 300
MOST_UNFOLDED_BYTES: Final = 1 << 30
"""Bytes of a column of a record batch once its dictionaries are unfolded, which a few bytes may stand for."""


def size_of_element(element: Element) -> int:
    """Returns the size of an element in bytes; 0 of what is none."""
    return len(element) if isinstance(element, bytes) else int(getattr(element, "nbytes", 0))


@dataclasses.dataclass(frozen=True, slots=True)
class ArrowBatch:
    """An incoming record batch, and how the outputs are made of it.

    Attributes:
        rows: What the record batches of both sides hold.
        schemas: The schemas that go with this one.
        batch: The record batch: the fields, then the event times where the batch came from another language.
        pack: Makes an element of a record batch, of the kind that the incoming one was.
    """

    rows: ArrowRows
    schemas: Schemas
    batch: pa.RecordBatch
    pack: Callable[[pa.RecordBatch], Element]

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def column(self, field: str) -> pa.Array:
        """Returns a field of every row, in the layout in which it would cross.

        Raises:
            EnsembleError: A dictionary in it stands for too much.
        """
        found = self.batch.column(field)
        if self.rows.announced is None:
            return found
        if has_dictionary(found.type) and (size := int(unfolded_sizes(found).sum())) > MOST_UNFOLDED_BYTES:
            raise EnsembleError(
                f"column '{field}' of a record batch takes {size} bytes without its dictionaries, and at most "
                f"{MOST_UNFOLDED_BYTES} are allowed; put fewer rows into a batch"
            )
        return in_wire_layout(found)

    def beyond_micros(self, field: str) -> np.ndarray | None:
        """Returns of which rows a field is a point in time that ``column`` cannot give; None where it can of all."""
        return beyond_micros(self.batch.column(field))

    def finer_than_micros(self, field: str) -> np.ndarray | None:
        """Returns of which rows a field has nanoseconds that ``column`` cannot give; None where it can of all."""
        return finer_than_micros(self.batch.column(field))

    def logical(self, field: str) -> list[Any] | None:
        """Returns the values of a field of a logical type; None where ``column`` gives them."""
        reader = self.rows.readers.get(field)
        if reader is None or self.rows.announced is not None:
            return None
        read = reading(reader)
        of = dict(self.rows.fields)[field]
        if of is None:
            raise TypeError(f"a field that is read has a layout, but '{field}' has none")
        values = values_with_bad_texts(self.batch.column(field), of)
        return [None if value is None else read(value) for value in values]

    def scored(
        self,
        rows: np.ndarray,
        added: Sequence[tuple[np.ndarray, np.ndarray | None]],
        written: Sequence[list[Any] | None] = (),
    ) -> Element:
        """Creates the main output's element.

        Args:
            rows: The rows that were scored, by their place, in order.
            added: The added columns, one leading item a scored row; each with which rows have a value (None: all).
            written: The values of those that cross as another type, None for the others; may be empty.
        """
        kept = self.batch if len(rows) == len(self) else taken(self.batch, rows)
        count, schema = len(self.rows.fields), self.schemas.output
        made = [
            array_of(column, of, valid)
            for (column, valid), (_, of) in zip(added, self.rows.added, strict=True)
        ]
        for at, values in enumerate(written):
            if values is not None:
                made[at] = array_of_values(values, self.rows.crossing[at])
        arrays = [kept.column(at) if at < count else made[at - count] for at in self.rows.positions]
        arrays += kept.columns[count:]
        if self.rows.announced is not None:
            arrays = [_cast_array(array, of) for array, of in zip(arrays, schema.types, strict=True)]
        return self.pack(pa.RecordBatch.from_arrays(arrays, schema=schema))

    def failed(self, rows: Sequence[int], details: Sequence[Sequence[str]]) -> Element:
        """Creates the error output's element.

        Args:
            rows: The rows that failed, by their place.
            details: For each of them ensemble, node, code, msg, stack.
        """
        gone = taken(self.batch, np.array(rows, np.int64))
        count = len(self.rows.fields)
        schema = self.schemas.errors
        element = pa.StructArray.from_arrays(gone.columns[:count], fields=list(schema.field(0).type))
        texts = [pa.array(values, pa.string()) for values in zip(*details, strict=True)]
        arrays = [element, *texts, *gone.columns[count:]]
        return self.pack(pa.RecordBatch.from_arrays(arrays, schema=schema))

    def oldest(self) -> int:
        """Returns the time of the oldest row, within Beam's range, where the batch came from another language."""
        oldest = int(pc.min(self.batch.column(len(self.rows.fields))).as_py())
        return min(max(oldest, MIN_TIMESTAMP.micros), MAX_TIMESTAMP.micros)

    def take(self, rows: np.ndarray) -> ArrowBatch:
        """Returns some of the rows, by their places."""
        return dataclasses.replace(self, batch=taken(self.batch, rows))

    def joined(self, others: Sequence[ArrowBatch]) -> ArrowBatch:
        """Returns these rows and those of other batches of one schema."""
        return dataclasses.replace(
            self, batch=pa.concat_batches([self.batch, *(other.batch for other in others)])
        )


class ArrowReader:
    """Reads record batches; settles the schemas of the outputs once for as long as the incoming one stays the same.

    Args:
        rows: What the record batches of both sides hold.
    """

    def __init__(self, rows: ArrowRows) -> None:
        self._rows = rows
        self._last: Schemas | None = None

    def read(self, element: Element) -> ArrowBatch:
        """Returns the one record batch of an element, checked in full.

        Raises:
            EnsembleError: It is not an Arrow stream of one record batch, or not of the announced columns.
        """
        batch, pack = _unpacked(element)
        _check(batch)
        schemas = self._schemas(batch.schema)
        if self._rows.announced is None and batch.column(len(self._rows.fields)).null_count:
            raise EnsembleError(
                f"'{EVENT_TIME}' of the incoming Arrow batches holds nulls; every row needs a time"
            )
        if schemas.plain is not None:
            batch = _cast(batch, schemas.plain)
        return ArrowBatch(self._rows, schemas, batch, pack)

    def _schemas(self, incoming: pa.Schema) -> Schemas:
        if self._last is None or not self._last.incoming.equals(incoming):
            try:
                self._last = self._rows.schemas(incoming)
            except UnicodeDecodeError as error:
                raise EnsembleError(
                    "a column of the incoming Arrow batches has a name that is not UTF-8"
                ) from error
        return self._last


def _unpacked(element: Element) -> tuple[pa.RecordBatch, Callable[[pa.RecordBatch], Element]]:
    if isinstance(element, bytes):
        return _read(element), _stream
    if isinstance(element, pa.Table):
        batches = element.combine_chunks().to_batches()
        if len(batches) > 1:
            raise EnsembleError("an Arrow table holds more text or lists than one record batch can")
        return batches[0] if batches else pa.RecordBatch.from_pylist([], element.schema), _table
    if isinstance(element, pa.RecordBatch):
        return element, _same
    raise EnsembleError(
        f"an element is {type(element).__name__}, which is not an Arrow record batch or table"
    )


def _check(batch: pa.RecordBatch) -> None:
    try:
        check_batch(batch)
    except _MALFORMED as error:
        raise EnsembleError(f"an incoming Arrow record batch is malformed: {_shown(error)}") from error


def _cast(batch: pa.RecordBatch, plain: pa.Schema) -> pa.RecordBatch:
    try:
        return batch.cast(plain)
    except _MALFORMED as error:
        raise EnsembleError(
            f"an incoming Arrow record batch has lists that are too long: {_shown(error)}"
        ) from error


def _cast_array(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Casts an array of another type; pyarrow 25 spoils a list of nulls that is cast to its own type."""
    return array if array.type.equals(wanted) else array.cast(wanted)


def _shown(error: Exception) -> str:
    """Returns the message of an exception on one line, not too long for a log."""
    said = ascii(" ".join(str(error).split()))[1:-1]
    return said if len(said) <= _LONGEST_MESSAGE else said[:_LONGEST_MESSAGE] + "..."


def _read(data: bytes) -> pa.RecordBatch:
    try:
        check_stream(data)
        batches = list(pyarrow.ipc.open_stream(data))
    except _MALFORMED as error:
        raise EnsembleError(f"an incoming element is not an Arrow IPC stream: {_shown(error)}") from error
    if len(batches) != 1:
        found = f"{len(batches)} record batches"
        raise EnsembleError(f"an incoming Arrow IPC stream must hold one record batch, found {found}")
    return batches[0]


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def _same(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch
