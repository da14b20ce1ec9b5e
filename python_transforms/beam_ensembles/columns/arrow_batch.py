"""Arrow record batches in and out: an element of bytes is an Arrow IPC stream of one record batch.

What the ensemble does not read stays in Arrow's memory on its way from the input to the outputs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from beam_ensembles.columns.arrow_rows import ArrowRows, Schemas
from beam_ensembles.columns.to_arrow import array_of
from beam_ensembles.errors import EnsembleError


@dataclasses.dataclass(frozen=True, slots=True)
class ArrowBatch:
    """An incoming record batch, and how the outputs are made of it.

    Attributes:
        rows: What the record batches of both sides hold.
        schemas: The schemas that go with this one.
        batch: The record batch: the fields, then the event times.
    """

    rows: ArrowRows
    schemas: Schemas
    batch: pa.RecordBatch

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def column(self, field: str) -> pa.Array:
        """Gives a field of every row."""
        return self.batch.column(field)

    def scored(self, rows: np.ndarray, added: Sequence[np.ndarray]) -> bytes:
        """Makes the main output's element.

        Args:
            rows: The rows that were scored, by their place, in order.
            added: The added columns, one leading item a scored row.
        """
        kept = self.batch if len(rows) == len(self) else self.batch.take(pa.array(rows))
        count = len(self.rows.fields)
        made = [array_of(column, of) for column, (_, of) in zip(added, self.rows.added, strict=True)]
        arrays = [kept.column(at) if at < count else made[at - count] for at in self.rows.positions]
        return _stream(self.schemas.output, [*arrays, kept.column(count)])

    def failed(self, rows: Sequence[int], details: Sequence[Sequence[str]]) -> bytes:
        """Makes the error output's element.

        Args:
            rows: The rows that failed, by their place.
            details: For each of them ensemble, node, code, msg, stack.
        """
        gone = self.batch.take(pa.array(rows, pa.int64()))
        count = len(self.rows.fields)
        schema = self.schemas.errors
        element = pa.StructArray.from_arrays(gone.columns[:count], fields=list(schema.field(0).type))
        texts = [pa.array(values, pa.string()) for values in zip(*details, strict=True)]
        return _stream(schema, [element, *texts, gone.column(count)])


class ArrowReader:
    """Reads record batches; settles the schemas of the outputs once for as long as the incoming one stays the same.

    Args:
        rows: What the record batches of both sides hold.
    """

    def __init__(self, rows: ArrowRows) -> None:
        self._rows = rows
        self._last: Schemas | None = None

    def read(self, data: bytes) -> ArrowBatch:
        """Reads the one record batch of an element.

        Raises:
            EnsembleError: It is no Arrow stream of one record batch with the announced columns.
        """
        batch = _read(data)
        schemas = self._last
        if schemas is None or not schemas.incoming.equals(batch.schema):
            schemas = self._last = self._rows.schemas(batch.schema)
        return ArrowBatch(self._rows, schemas, batch if schemas.plain is None else batch.cast(schemas.plain))


def _read(data: bytes) -> pa.RecordBatch:
    try:
        batches = list(pyarrow.ipc.open_stream(data))
        for batch in batches:
            batch.validate()
    except (pa.ArrowException, OSError) as error:
        said = " ".join(str(error).split())
        raise EnsembleError(f"an incoming element is no Arrow IPC stream: {said}") from error
    if len(batches) != 1:
        found = f"{len(batches)} record batches"
        raise EnsembleError(f"an incoming Arrow IPC stream must hold one record batch, found {found}")
    return batches[0]


def _stream(schema: pa.Schema, arrays: Sequence[pa.Array]) -> bytes:
    sink = pa.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, schema) as stream:
        stream.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    written: bytes = sink.getvalue().to_pybytes()
    return written
