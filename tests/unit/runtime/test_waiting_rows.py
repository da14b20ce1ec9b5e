"""The rows that wait: which batches they make, when they go, and where they hold the watermark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from apache_beam.transforms.window import GlobalWindow, IntervalWindow
from apache_beam.utils.timestamp import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.columns.batch import ColumnBatch, RowBatch
from beam_ensembles.runtime import waiting_rows
from beam_ensembles.runtime.batch_coder import BatchCoder
from beam_ensembles.runtime.between_stages import InFlight
from beam_ensembles.runtime.row_source import RowSource
from beam_ensembles.runtime.waiting_rows import WaitForMore

SIZE, MAX_WAIT = 8, 10.0
WINDOW = IntervalWindow(0, 1000)
SECOND = 1_000_000


class Bag:
    """A bag that is encoded, as in a runner."""

    def __init__(self) -> None:
        self.values: list[bytes] = []

    def add(self, value: Any) -> None:
        self.values.append(BatchCoder().encode(value))

    def read(self) -> list[Any]:
        return [BatchCoder().decode(value) for value in self.values]

    def clear(self) -> None:
        self.values = []


class Value:
    def __init__(self) -> None:
        self.value: Any = None

    def read(self) -> Any:
        return self.value

    def write(self, value: Any) -> None:
        self.value = value

    def clear(self) -> None:
        self.value = None


class Timer:
    """A timer that holds at the time of the element at hand, or where it fires: what Beam does in either domain."""

    def __init__(self) -> None:
        self.fires: int | None = None
        self.holds: int | None = None
        self.element = 0

    def set(self, at: Any) -> None:
        self.fires, self.holds = Timestamp.of(at).micros, self.element

    def clear(self) -> None:
        self.fires = self.holds = None


class Key:
    """One key in one window, and the clock of its worker."""

    def __init__(self, window: Any = WINDOW) -> None:
        self.do, self.window, self.now = WaitForMore(SIZE, MAX_WAIT), window, 0
        self.parts, self.waiting, self.due, self.end = Bag(), Value(), Timer(), Timer()
        self.out: list[Any] = []
        self.next = 0

    def add(self, micros: list[int]) -> None:
        """Feeds it a batch of rows, numbered on, at these times."""
        numbers = list(range(self.next, self.next + len(micros)))
        self.next += len(micros)
        same = len(set(micros)) == 1
        source = RowSource(RowBatch(numbers, None if same else micros, (self.window,)))
        batch = InFlight(source, ColumnBatch(np.arange(len(micros)), {"x": np.array(numbers, float)}))
        self.due.element = min(micros)
        state = (self.window, self.parts, self.waiting, self.due, self.end)
        self.out += self.do.process(("", batch), Timestamp(micros=min(micros)), *state)

    def fire(self, *, end: bool = False) -> None:
        timer = self.end if end else self.due
        timer.clear()
        self.due.element = self.window.max_timestamp().micros
        state = (self.window, self.parts, self.waiting)
        self.out += self.do.on_end(*state, self.due) if end else self.do.on_due(*state, self.end)

    def rows(self) -> list[tuple[int, int]]:
        """Returns all rows that came out with their times."""
        found = []
        for value in self.out:
            batch, micros = value.value.source.batch, value.timestamp.micros
            assert value.windows == (self.window,)
            assert [float(number) for number in batch.elements] == value.value.columns.columns["x"].tolist()
            times = [micros] * len(batch) if batch.micros is None else batch.micros
            assert min(times) >= micros, "an element is never younger than its rows"
            found += zip(batch.elements, times, strict=True)
        return found

    def sizes(self) -> list[int]:
        return [len(value.value) for value in self.out]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_rows, "_now", lambda: 0)


def test_rows_wait_until_they_fill_a_batch() -> None:
    key = Key()
    for _ in range(5):
        key.add([5 * SECOND] * 3)
    assert key.sizes() == [8]
    assert key.waiting.read()[0] == 7


def test_the_first_row_is_due_after_max_wait_and_later_ones_do_not_put_that_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = Key()
    key.add([5, 6])
    assert key.due.fires == 10 * SECOND
    monkeypatch.setattr(waiting_rows, "_now", lambda: 4 * SECOND)
    key.add([7])
    key.add([3])
    assert key.due.fires == 10 * SECOND
    key.fire()
    assert key.rows() == [(0, 5), (1, 6), (2, 7), (3, 3)]
    assert key.end.fires is None


def test_rows_left_over_are_due_by_their_own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    key = Key()
    key.add([5] * 6)
    monkeypatch.setattr(waiting_rows, "_now", lambda: 4 * SECOND)
    key.add([9] * 6)
    assert key.sizes() == [8]
    assert (key.due.fires, key.due.holds) == (14 * SECOND, 9)
    assert key.waiting.read() == (4, 9, 14 * SECOND)


def test_nothing_is_held_when_nothing_waits() -> None:
    key = Key()
    key.add([5] * 6)
    key.add([9] * 2)
    assert key.sizes() == [8]
    assert key.due.fires is None
    assert key.end.fires is None
    key.fire()  # as Prism does
    assert key.sizes() == [8]


@pytest.mark.parametrize("window", [WINDOW, GlobalWindow()])
def test_the_end_of_the_window_lets_all_go(window: Any) -> None:
    key = Key(window)
    key.add([5] * 3)
    assert key.end.fires == window.max_timestamp().micros
    key.fire(end=True)
    assert key.rows() == [(0, 5), (1, 5), (2, 5)]
    assert key.waiting.read() is None
    assert key.due.fires is None, "no job waits for a timer that has nothing to do"


@given(
    st.lists(
        st.one_of(
            st.lists(st.integers(0, 30), min_size=1, max_size=SIZE - 1), st.sampled_from(["due", "end"])
        ),
        max_size=40,
    )
)
def test_no_row_is_lost_or_late(steps: list[list[int] | str]) -> None:
    key, given_rows = Key(), []
    for step in steps:
        before = len(key.out)
        if isinstance(step, list):
            given_rows += list(enumerate(step, key.next))
            key.add(step)
            assert all(len(value.value) == SIZE for value in key.out[before:])
        elif key.due.fires is not None or key.end.fires is not None:
            key.fire(end=step == "end")
        gone = key.rows()
        wait = [micros for _, micros in given_rows[len(gone) :]]
        assert gone == given_rows[: len(gone)]
        assert len(wait) < SIZE
        if wait:
            assert key.due.holds is not None
            assert key.due.holds <= min(wait)
            assert key.end.fires == WINDOW.max_timestamp().micros
        else:
            assert key.due.holds is None
            assert key.parts.values == []
            assert key.waiting.read() is None
    if key.end.fires is not None:
        key.fire(end=True)
    assert key.rows() == given_rows
