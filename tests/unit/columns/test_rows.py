"""Reading fields from elements and building the elements of the outputs."""

from __future__ import annotations

from typing import NamedTuple

import apache_beam as beam

from beam_ensembles.columns.rows import KeyedRows, ObjectRows, TupleRows

DETAILS = ("digits", "forest", "model_error", "no", "")


class Picture(NamedTuple):
    id: int
    x: float


def test_tuple_rows_keep_their_fields_and_gain_columns() -> None:
    rows = TupleRows(("id", "x"), (0, 1, 2), ("id", "x", "label"))
    assert rows.values([(1, 2.0), (3, 4.0)], "x") == [2.0, 4.0]
    assert rows.extend([(1, 2.0), (3, 4.0)], [["a", "b"]]) == [(1, 2.0, "a"), (3, 4.0, "b")]


def test_tuple_rows_come_in_the_callers_order() -> None:
    rows = TupleRows(("id", "x"), (2, 0), ("label", "id"))
    (made,) = rows.extend([(1, 2.0)], [["a"]])
    assert made == ("a", 1)
    assert made.label == "a"


def test_tuple_rows_without_any_field_left() -> None:
    assert TupleRows(("id",), (), ()).extend([(1,), (2,)], []) == [(), ()]


def test_object_rows_become_beam_rows() -> None:
    rows = ObjectRows(("id", "x"), ("label",))
    assert rows.extend([Picture(1, 2.0), beam.Row(id=3, x=4.0)], [["a", "b"]]) == [
        beam.Row(id=1, x=2.0, label="a"),
        beam.Row(id=3, x=4.0, label="b"),
    ]


def test_a_failed_row_is_carried_whole() -> None:
    failed = ObjectRows(("id", "x"), ("label",)).failed(Picture(1, 2.0), DETAILS)
    assert failed.element == Picture(1, 2.0)
    assert failed.code == "model_error"
    assert TupleRows(("id",), (0,), ("id",)).failed((1,), DETAILS) == ((1,), *DETAILS)


def test_keys_travel_to_both_outputs() -> None:
    rows = KeyedRows(ObjectRows(("id",), ("label",)))
    assert rows.values([("k", Picture(1, 2.0))], "x") == [2.0]
    assert rows.extend([("k", Picture(1, 2.0))], [["a"]]) == [("k", beam.Row(id=1, label="a"))]
    key, failed = rows.failed(("k", Picture(1, 2.0)), DETAILS)
    assert (key, failed.node) == ("k", "forest")
