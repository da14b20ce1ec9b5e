"""Arrow record batches that lie about themselves: no crash, no bytes of the worker's memory, one clear sentence."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pytest
from hypothesis import strategies as st

from beam_ensembles.columns.arrow_batch import ArrowReader
from beam_ensembles.columns.arrow_rows import ArrowRows
from beam_ensembles.columns.arrow_sizes import has_dictionary
from beam_ensembles.columns.nulls import nullable_arrow_column
from beam_ensembles.errors import EnsembleError
from beam_ensembles.runtime.arrow_source import ArrowSource
from beam_ensembles.types import parse_type
from tests.support.arrow_batches import read, record_batch, stream
from tests.support.fuzzing import Target, fuzz, mutated, target

ROWS: Final[dict[str, list[Any]]] = {
    "boolean": [True, False, True],
    "int8": [1, 2, 3],
    "int64": [1, 2, 3],
    "float": [1.0, 2.0, 3.0],
    "double?": [1.0, None, 3.0],
    "string": ["one", "two", "three"],
    "string?": ["one", None, "three"],
    "bytes": [b"one", b"two", b"three"],
    "timestamp": [1, 2, 3],
    "timestamp?": [1, None, 3],
    "array<double>[2]": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    "array<string>": [["one"], [], ["two", "three"]],
    "array<array<int32>>": [[[1], []], [], [[2, 3]]],
    "array<string?>?": [["one", None], None, []],
    "map<string, double>": [{"one": 1.0}, {}, {"two": 2.0}],
    "row<a: string, b: array<int64>>": [{"a": "one", "b": [1]}, {"a": "two", "b": []}, {"a": "x", "b": [2]}],
    "array<row<a: string?, t: timestamp>>": [[{"a": None, "t": 1}], [], [{"a": "one", "t": 2}]],
}
"""Three values of every shape that the type language has."""

STREAMS: Final = {
    of: stream(record_batch({"x": of}, [[value] for value in values], [1, 2, 3]))
    for of, values in ROWS.items()
}
UNREAD: Final = {
    str(array.type): array
    for array in (
        pa.array(["one", "two", "one"]).dictionary_encode(),
        pa.array(["one", "two", "a text of more than twelve bytes"], pa.string_view()),
        pa.array([b"one", b"two", b"a text of more than twelve bytes"], pa.binary_view()),
        pa.array([[1], [], [2, 3]], pa.list_view(pa.int64())),
        pa.array([[1], [], [2, 3]], pa.large_list(pa.int64())),
        pc.run_end_encode(pa.array(["one", "one", "two"])),
        pa.UnionArray.from_sparse(
            pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(["one", "two", "three"])]
        ),
        pa.UnionArray.from_dense(
            pa.array([0, 1, 0], pa.int8()),
            pa.array([0, 0, 1], pa.int32()),
            [pa.array([1, 2]), pa.array(["two"])],
        ),
        pa.array([None, None, None], pa.null()),
        pa.array([1, 2, 3], pa.decimal128(9, 2)),
        pa.array([b"0123456789abcdef"] * 3, pa.uuid()),
    )
}
"""Columns of types that the type language has no word for: they go through as they came."""


def attack(value: tuple[str | None, bytes]) -> Any:
    """Reads a stream as a worker does, and gives the rows of both outputs."""
    text, data = value
    type_ = None if text is None else parse_type(text)
    source = ArrowSource(ArrowReader(ArrowRows((("x", type_),), (), (0,))).read(data))
    source.oldest(7)
    if type_ is not None:
        array = source.batch.column("x")
        found, _ = nullable_arrow_column(array, type_, "x")
        [str(fault) for fault in found.faults.values()]
        found.values.tolist()
    rows = np.arange(len(source), dtype=np.int64)
    good, bad = rows[::2], rows[1::2]
    joined = source.take(good).joined([source.take(bad)])
    assert len(joined) == len(source)
    details = [("ensemble", "node", "code", "message", "stack")] * len(bad)
    return [
        read(source.batch.scored(good, [])).num_rows,
        read(source.batch.failed(bad.tolist(), details)).num_rows,
        source.batch.scored(rows, []),
    ]


@pytest.fixture(scope="module")
def reader() -> Iterator[Target]:
    with target(f"{__name__}:attack", most_bytes=512 << 20) as found:
        yield found


def survives(reader: Target, of: str | None, data: bytes) -> None:
    outcome = reader.attack((of, data))
    if outcome.kind == "raised":
        assert outcome.value[0] == "EnsembleError", outcome.value
        assert len(outcome.value[1]) < 1000
        return
    assert outcome.kind == "answered", outcome
    scored = outcome.value[2]
    assert len(scored) < 3 * len(data) + 4096, "more came back than was sent"


def crafted(offsets: list[int]) -> bytes:
    """Returns a stream of three texts with the given offsets."""
    buffers = [None, pa.py_buffer(np.array(offsets, np.int32)), pa.py_buffer(b"abc")]
    array = pa.Array.from_buffers(pa.string(), 3, buffers)
    good = stream(
        pa.RecordBatch.from_pydict({"x": pa.array(["a", "b", "c"]), "__event_time": pa.array([1, 2, 3])})
    )
    return good.replace(np.array([0, 1, 2, 3], np.int32).tobytes(), array.buffers()[1].to_pybytes())


@pytest.mark.parametrize("of", ["string", None])
@pytest.mark.parametrize(
    "offsets", [[0, 300, 300, 3], [0, 1 << 30, 2, 3], [0, -8, 2, 3], [0, 2, 1, 3]], ids=str
)
def test_offsets_that_lie_are_refused(reader: Target, offsets: list[int], of: str | None) -> None:
    outcome = reader.attack((of, crafted(offsets)))
    assert outcome.kind == "raised", outcome
    assert outcome.value[0] == "EnsembleError"
    assert "an incoming Arrow record batch is malformed" in outcome.value[1]


def test_null_counts_that_lie_are_refused(reader: Target) -> None:
    data = STREAMS["double?"]
    batch = read(data)
    assert batch.column("x").null_count == 1
    node = struct.pack("<qq", 3, 1)
    assert data.count(node) == 1
    outcome = reader.attack(("double?", data.replace(node, struct.pack("<qq", 3, 2))))
    assert outcome.kind == "raised"
    assert "null_count" in outcome.value[1]


def compressed(codec: str, rows: int) -> bytes:
    """Returns a stream whose buffers, of zeros, are compressed."""
    zeros = pa.RecordBatch.from_pydict(
        {"x": pa.array(np.zeros(rows)), "__event_time": pa.array(np.zeros(rows, np.int64))}
    )
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with pa.ipc.new_stream(sink, zeros.schema, options=options) as writer:
        writer.write_batch(zeros)
    written: bytes = sink.getvalue().to_pybytes()
    return written


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_compressed_messages_are_taken_within_limits(reader: Target, codec: str) -> None:
    data = compressed(codec, 1 << 15)
    assert reader.attack(("double", data)).kind == "answered"
    for lie in (1 << 62, 1 << 31, -2, (8 << 15) + 8, (8 << 15) - 8):
        lying = data.replace(struct.pack("<q", 8 << 15), struct.pack("<q", lie))
        assert lying != data
        outcome = reader.attack(("double", lying))
        assert outcome.kind == "raised", (lie, outcome)
        assert outcome.value[0] == "EnsembleError"
        assert outcome.seconds < 5


def test_a_small_message_does_not_unpack_to_much(reader: Target) -> None:
    outcome = reader.attack(("double", compressed("zstd", 1 << 23)))
    assert outcome.kind == "raised"
    assert "unpack to over" in outcome.value[1]


@pytest.mark.parametrize("of", ["array<array<double>>", None])
def test_values_without_bytes_do_not_fill_memory(reader: Target, of: str | None) -> None:
    many = 1 << 29
    inner = pa.Array.from_buffers(
        pa.list_(pa.float64(), 0), many, [None], children=[pa.array([], pa.float64())]
    )
    lists = pa.ListArray.from_arrays(pa.array([0, many, many, many], pa.int32()), inner)
    data = stream(pa.RecordBatch.from_pydict({"x": lists, "__event_time": pa.array([1, 2, 3])}))
    assert len(data) < 1000
    outcome = reader.attack((of, data))
    assert outcome.kind == "raised", outcome
    assert "a column announces 536870912 values in a stream of" in outcome.value[1]


def test_types_nested_too_deep_are_refused(reader: Target) -> None:
    deep = pa.int64()
    for _ in range(60):
        deep = pa.list_(deep)
    batch = pa.RecordBatch.from_pydict({"x": pa.array([None] * 3, deep), "__event_time": pa.array([1, 2, 3])})
    survives(reader, None, stream(batch))
    for _ in range(2000):
        deep = pa.list_(deep)
    message = pa.schema([("x", deep), ("__event_time", pa.int64())]).serialize().to_pybytes()
    outcome = reader.attack((None, message))
    assert outcome.kind == "raised"
    assert outcome.value[0] == "EnsembleError"


def test_a_row_without_a_time_is_refused() -> None:
    batch = pa.RecordBatch.from_pydict({"x": pa.array([1.0]), "__event_time": pa.array([None], pa.int64())})
    with pytest.raises(EnsembleError, match="'__event_time' of the incoming Arrow batches holds nulls"):
        attack(("double", stream(batch)))


def test_a_text_that_is_not_utf8_is_an_error_of_its_row_alone() -> None:
    data = STREAMS["string"].replace(b"onetwothree", b"on\xfftwothree")
    source = ArrowSource(ArrowReader(ArrowRows((("x", parse_type("string")),), (), (0,))).read(data))
    found, _ = nullable_arrow_column(source.batch.column("x"), parse_type("string?"), "x")
    assert list(found.faults) == [0]
    assert found.values.tolist() == ["two", "three"]


def test_batches_of_python_pipelines_are_checked_too() -> None:
    array = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(np.array([0, 300, 300, 3], np.int32)), pa.py_buffer(b"abc")]
    )
    batch = pa.RecordBatch.from_arrays([array], ["x"])
    reader = ArrowReader(ArrowRows((("x", parse_type("string")),), (), (0,), announced=batch.schema))
    for element in (batch, pa.Table.from_batches([batch])):
        with pytest.raises(EnsembleError, match="malformed"):
            reader.read(element)


@fuzz(st.sampled_from(list(ROWS)).flatmap(lambda of: st.tuples(st.just(of), mutated(STREAMS[of]))))
def test_a_mutated_stream_never_crashes_or_leaks(reader: Target, drawn: tuple[str, bytes]) -> None:
    survives(reader, *drawn)


_UNREAD_STREAMS: Final = [
    stream(pa.RecordBatch.from_pydict({"x": array, "__event_time": pa.array([1, 2, 3])}))
    for array in UNREAD.values()
]


@fuzz(st.sampled_from(_UNREAD_STREAMS).flatmap(mutated))
def test_a_mutated_column_that_no_node_reads_never_crashes_or_leaks(reader: Target, data: bytes) -> None:
    survives(reader, None, data)


@pytest.mark.parametrize("kind", ["texts", "lists", "rows"])
def test_a_dictionary_that_stands_for_gigabytes_is_refused(kind: str) -> None:
    """Pipelines of Python may send dictionaries: 1,200 rows of 4 bytes each took 1.2 GB for a model."""
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_200, "int32")), pa.array(["x" * (1 << 20)]))
    column: pa.Array = texts
    type_ = "string?"
    if kind == "lists":
        column, type_ = pa.ListArray.from_arrays(pa.array(range(1_201), pa.int32()), texts), "array<string?>?"
    elif kind == "rows":
        column, type_ = pa.StructArray.from_arrays([texts], ["k"]), "row<k: string?>?"
    batch = pa.RecordBatch.from_arrays([column], ["z"])
    rows = ArrowRows((("z", parse_type(type_)),), (), (0,), announced=batch.schema)
    read = ArrowReader(rows).read(batch)
    with pytest.raises(EnsembleError, match="put fewer rows into a batch"):
        read.column("z")
    few = ArrowReader(rows).read(batch.slice(0, 2)).column("z")
    assert len(few) == 2
    assert not has_dictionary(few.type)
