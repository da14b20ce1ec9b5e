"""Arrays of numbers: what numpy makes of them, and only where all are of one type and length."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beam_ensembles.columns import convert
from beam_ensembles.columns.convert import to_column
from beam_ensembles.columns.number_lists import matrix_of
from beam_ensembles.types import parse_type

ROWS = 40
_WHOLE = st.integers(-(2**31), 2**31 - 1)
_ITEMS = st.one_of(
    st.floats(), st.floats(width=32), _WHOLE, st.integers(), st.booleans(), st.none(), st.text(), st.binary(),
    st.builds(np.float64, st.floats()), st.decimals(), st.lists(st.floats(), max_size=2),
)  # fmt: skip


@st.composite
def _matrices(draw: st.DrawFn, items: st.SearchStrategy[Any]) -> list[Sequence[Any]]:
    width = draw(st.integers(1, 5))
    few = draw(st.lists(st.lists(items, min_size=width, max_size=width), min_size=1, max_size=4))
    kind = draw(st.sampled_from((list, tuple)))
    return [kind(few[at % len(few)]) for at in range(ROWS)]


@given(_matrices(st.floats()))
def test_floats_are_what_numpy_makes_of_them_bit_by_bit(rows: list[Sequence[float]]) -> None:
    found = matrix_of(rows, len(rows[0]), "f")
    assert found is not None
    expected = np.array(rows)
    assert (found.dtype, found.shape, found.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())
    assert found.flags.writeable
    assert found.flags.c_contiguous


@given(_matrices(_WHOLE), st.sampled_from("fiu"))
def test_whole_numbers_are_what_numpy_makes_of_them(rows: list[Sequence[int]], kind: str) -> None:
    found = matrix_of(rows, len(rows[0]), kind)
    assert found is not None
    np.testing.assert_array_equal(found, np.array(rows))


@given(_matrices(st.floats()), st.integers(0, ROWS - 1), st.data())
def test_one_item_of_another_type_is_left_to_numpy(
    rows: list[Sequence[Any]], at: int, data: st.DataObject
) -> None:
    other = data.draw(_ITEMS.filter(lambda item: type(item) is not float))
    place = data.draw(st.integers(0, len(rows[0]) - 1))
    changed = [list(row) for row in rows]
    changed[at][place] = other
    assert matrix_of(changed, len(rows[0]), "f") is None


@pytest.mark.parametrize(
    "odd",
    [
        None, 1.0, "1.0", b"\x00" * 18, [], [1.0], [1.0, 2.0, 3.0], {1.0: 2.0}, [1.0, True], [1.0, 2],
        [1.0, 2**40], [[1.0, 2.0]], np.array([1.0, 2.0]), [1.0, Decimal(2)], [1.0, Fraction(2)], [np.float64(1), 2.0],
    ],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("at", [0, 17, ROWS - 1])
def test_one_odd_row_is_left_to_numpy(odd: Any, at: int) -> None:
    rows: list[Any] = [[1.0, 2.0] for _ in range(ROWS)]
    rows[at] = odd
    assert matrix_of(rows, 2, "f") is None


def test_lists_of_bytes_that_look_like_numbers_are_left_to_numpy() -> None:
    rows: list[Any] = [[1.0, 2.0] for _ in range(ROWS)]
    rows[5] = [b"gggg", b"gggggggg"]  # as long as two doubles: 5 + 4 and 5 + 8 bytes
    assert matrix_of(rows, 2, "f") is None


def test_floats_do_not_stand_for_whole_numbers_and_truth_values_for_none() -> None:
    assert matrix_of([[1.0]] * ROWS, 1, "i") is None
    assert matrix_of([[True]] * ROWS, 1, "b") is None
    assert matrix_of([[True]] * ROWS, 1, "f") is None
    assert matrix_of([[1]] * ROWS, 1, "b") is None


@settings(max_examples=60)
@given(
    _matrices(st.one_of(st.floats(), _ITEMS)),
    st.sampled_from(("double", "float", "int64", "int8", "uint32", "boolean")),
)
def test_columns_are_those_that_numpy_alone_gives(rows: list[Sequence[Any]], element: str) -> None:
    type_ = parse_type(f"array<{element}>[{len(rows[0])}]")
    found = to_column(rows, type_, "x")
    with mock.patch.object(convert, "matrix_of", return_value=None):
        expected = to_column(rows, type_, "x")
    assert found.values.dtype == expected.values.dtype
    np.testing.assert_array_equal(found.values, expected.values)
    assert {at: vars(one) for at, one in found.faults.items()} == {
        at: vars(one) for at, one in expected.faults.items()
    }
