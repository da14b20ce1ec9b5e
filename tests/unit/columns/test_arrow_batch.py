"""Arrow record batches as they come: layouts, and what is refused in one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from beam_ensembles.columns.arrow_batch import ArrowReader
from beam_ensembles.columns.arrow_rows import ArrowRows
from beam_ensembles.columns.from_arrow import column_of
from beam_ensembles.errors import EnsembleError
from beam_ensembles.types import parse_type
from tests.support.arrow_batches import read, record_batch, stream

ROWS = ArrowRows(
    (("x", parse_type("array<double>")), ("s", parse_type("string?"))),
    (("made", parse_type("array<float>[2]")),),
    (2, 0),
)
TWO = [[1.0, 2.0], [3.0, 4.0]]
LISTS = [pa.list_(pa.float64()), pa.large_list(pa.float64()), pa.list_(pa.float64(), 2)]


def batch_of(x: pa.Array, **more: Any) -> pa.RecordBatch:
    columns = {"x": x, "s": pa.array(["a", None]), "__event_time": pa.array([1, 2]), **more}
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize("layout", LISTS, ids=str)
def test_a_list_may_come_in_any_layout_and_goes_out_as_a_plain_one(layout: pa.DataType) -> None:
    batch = ArrowReader(ROWS).read(stream(batch_of(pa.array(TWO, layout))))
    column = column_of(batch.column("x"), parse_type("array<double>[2]"), "x")
    assert column.values.tolist() == TWO
    made = read(batch.scored(np.arange(2), [(column.values, None)]))
    assert made.schema.names == ["made", "x", "__event_time"]
    assert made.schema.field("x").type == pa.list_(pa.float64())
    assert made.schema.field("made").type == pa.list_(pa.field("item", pa.float32(), nullable=False))
    assert made.to_pydict() == {"made": TWO, "x": TWO, "__event_time": [1, 2]}


def test_numbers_are_views_of_the_message() -> None:
    data = stream(batch_of(pa.array(TWO)))
    values = column_of(ArrowReader(ROWS).read(data).column("x"), parse_type("array<double>[2]"), "x").values
    assert np.shares_memory(values, np.frombuffer(data, np.uint8))


@pytest.mark.parametrize("layout", LISTS, ids=str)
def test_a_part_of_an_array_is_read_as_that_part(layout: pa.DataType) -> None:
    array = pa.array([[0.0, 0.0], *TWO, [9.0, 9.0]], layout).slice(1, 2)
    assert column_of(array, parse_type("array<double>[2]"), "x").values.tolist() == TWO


def test_rows_that_failed_are_taken_out_of_one_output_and_into_the_other() -> None:
    batch = ArrowReader(ROWS).read(stream(batch_of(pa.array(TWO))))
    assert read(batch.scored(np.array([1]), [(np.ones((1, 2)), None)])).to_pylist() == [
        {"made": [1.0, 1.0], "x": [3.0, 4.0], "__event_time": 2}
    ]
    assert read(batch.failed([0], [("e", "n", "c", "m", "s")])).to_pylist() == [
        {
            "element": {"x": [1.0, 2.0], "s": "a"},
            "ensemble": "e", "node": "n", "code": "c", "msg": "m", "stack": "s",
            "__event_time": 1,
        }
    ]  # fmt: skip


UNUSUAL = [
    pa.array(["a", "b", "c"], pa.string_view()),
    pa.array([b"a", None, b"c"], pa.binary_view()),
    pa.array([["a"], [], None], pa.list_(pa.string_view())),
    pa.array([{"s": "a"}, None, {"s": "c"}], pa.struct([("s", pa.string_view())])),
    pa.compute.run_end_encode(pa.array(["a", "a", "c"])),
]


@pytest.mark.parametrize("array", UNUSUAL, ids=lambda array: str(array.type))
def test_rows_of_what_arrow_cannot_take_from_are_taken_out_too(array: pa.Array) -> None:
    batch = pa.RecordBatch.from_pydict({"x": pa.array([1.0, None, 3.0]), "s": array})
    rows = ArrowRows((("x", parse_type("double?")), ("s", None)), (), (0, 1), announced=batch.schema)
    read_batch = ArrowReader(rows).read(batch)
    assert read_batch.scored(np.array([0, 2]), []).column("s").to_pylist() == array.to_pylist()[::2]
    failed = read_batch.failed([1], [("e", "n", "c", "m", "s")])
    assert failed.column("element").to_pylist() == [{"x": None, "s": array.to_pylist()[1]}]
    assert len(read_batch.take(np.array([], np.int64))) == 0


@pytest.mark.parametrize(
    ("type_", "values"),
    [("string", ["a", "?", "b"]), ("string", ["a", "?", None]), ("array<string>", [["a"], ["?", "b"], []])],
)
def test_a_text_that_is_not_utf8_is_the_error_of_its_row(type_: str, values: list[Any]) -> None:
    plain = pa.array(values)
    buffers = [
        None if b is None else pa.py_buffer(b.to_pybytes().replace(b"?", b"\xff")) for b in plain.buffers()
    ]
    if type_ == "string":
        array = pa.Array.from_buffers(plain.type, len(plain), buffers)
    else:
        texts = pa.Array.from_buffers(pa.string(), len(plain.flatten()), buffers[2:])
        array = pa.ListArray.from_arrays(plain.offsets, texts)
    found = column_of(array, parse_type(type_), "s")
    assert {at: error.code for at, error in found.faults.items()}[1] == "wrong_value"
    assert "'s' holds a text that is not UTF-8" in str(found.faults[1])
    good = [value for at, value in enumerate(values) if at != 1 and value is not None]
    assert list(found.values) == good


def without_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(["x", "s"])


def in_another_order(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(["s", "x", "__event_time"])


def with_text_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.set_column(2, "__event_time", pa.array(["1", "2"]))


def with_a_dictionary(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.set_column(1, "s", batch.column("s").dictionary_encode())


def with_single_floats(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.set_column(0, "x", batch.column("x").cast(pa.list_(pa.float32())))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (without_times, "have the columns x, s, but the caller announced x, s, __event_time"),
        (in_another_order, "have the columns s, x, __event_time, but"),
        (with_text_times, "'__event_time' of the incoming Arrow batches is string, not int64"),
        (with_a_dictionary, r"have 's' as dictionary<.*>, which is not a layout of string\?"),
        (with_single_floats, r"have 'x' as list<item: float>, which is not a layout of array<double>"),
    ],
)
def test_another_layout_than_announced_is_refused(spoil: Any, said: str) -> None:
    with pytest.raises(EnsembleError, match=said):
        ArrowReader(ROWS).read(stream(spoil(batch_of(pa.array(TWO)))))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is not an Arrow IPC stream"),
        (b"no Arrow at all", "is not an Arrow IPC stream"),
        (stream(batch_of(pa.array(TWO)))[:-200], "is not an Arrow IPC stream"),
        (stream(batch_of(pa.array(TWO)), batch_of(pa.array(TWO))), "must hold one record batch, found 2"),
    ],
    ids=["empty", "text", "cut short", "two batches"],
)
def test_what_is_no_stream_of_one_record_batch_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(EnsembleError, match=said) as refusal:
        ArrowReader(ROWS).read(data)
    assert "\n" not in str(refusal.value)


def test_a_batch_without_rows_is_a_batch() -> None:
    data = stream(record_batch({"x": "array<double>", "s": "string?"}, [], []))
    assert len(ArrowReader(ROWS).read(data)) == 0


def test_lists_within_rows_may_come_in_any_layout_too() -> None:
    rows = ArrowRows((("r", parse_type("row<l: array<int64>, m: map<string,array<int64>>>")),), (), (0,))
    inner = pa.list_(pa.int64(), 1)
    layout = pa.struct([("l", inner), ("m", pa.map_(pa.string(), pa.large_list(pa.int64())))])
    value = {"l": [1], "m": [("k", [2])]}
    batch = pa.RecordBatch.from_pydict({"r": pa.array([value], layout), "__event_time": pa.array([0])})
    made = read(ArrowReader(rows).read(stream(batch)).scored(np.arange(1), []))
    assert made.column("r").to_pylist() == [value]
    assert made.schema.field("r").type.field("l").type == pa.list_(pa.int64())


def test_the_oldest_row_of_a_batch_from_another_language_is_known() -> None:
    times = pa.array([1_700_000_000_000_007, -5])
    batch = ArrowReader(ROWS).read(stream(batch_of(pa.array(TWO, LISTS[0]), __event_time=times)))
    assert batch.oldest() == -5
