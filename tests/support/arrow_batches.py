"""Arrow record batches as clients send them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from beam_ensembles.columns.arrow_types import EVENT_TIME, arrow_field
from beam_ensembles.types import Type, parse_type


def record_batch(
    fields: Mapping[str, str], rows: Sequence[Sequence[Any]], times: Sequence[int]
) -> pa.RecordBatch:
    """Creates a record batch of rows, each the values of the fields in order."""
    types: dict[str, Type] = {name: parse_type(text) for name, text in fields.items()}
    schema = pa.schema([*(arrow_field(name, of) for name, of in types.items()), (EVENT_TIME, pa.int64())])
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in fields]
    arrays = [
        pa.array(values, field.type) for values, field in zip([*columns, list(times)], schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def stream(*batches: pa.RecordBatch) -> bytes:
    """Writes record batches as one Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def read(data: bytes) -> pa.RecordBatch:
    """Reads the one record batch of an Arrow IPC stream."""
    (batch,) = pyarrow.ipc.open_stream(data)
    return batch
