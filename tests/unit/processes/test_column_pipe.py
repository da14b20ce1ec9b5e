"""A pipe for columns: what is sent comes as it is and stays so, in memory or through the socket."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
import pytest

from beam_ensembles.columns.batch import read_only
from beam_ensembles.processes import column_pipe
from beam_ensembles.processes.column_pipe import ColumnPipe

Ends: TypeAlias = tuple[ColumnPipe, ColumnPipe]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = map(ColumnPipe, multiprocessing.Pipe())
    with ours, theirs:
        yield ours, theirs


def passed(ends: Ends, value: Any) -> Any:
    """Sends a value to the other end."""
    sender, receiver = ends
    with ThreadPoolExecutor(1) as pool:  # what goes through the socket waits for the other end
        sent = pool.submit(sender.send, value)
        found = receiver.recv()
        sent.result()
    return found


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def assert_equal(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        assert np.array_equal(found[name], values)
        assert found[name].flags.writeable == values.flags.writeable


@pytest.mark.parametrize("rows", [0, 1, 511, 512, 2_048, 5_000, 100_000])
@pytest.mark.parametrize("has_memory", [True, False])
def test_columns_come_as_they_are(
    ends: Ends, rows: int, has_memory: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_pipe, "_HAS_MEMORY", has_memory and column_pipe._HAS_MEMORY)
    numbers = np.arange(4.0 * rows).reshape(rows, 4)
    columns = {
        "matrix": numbers,
        "by column": np.asfortranarray(numbers),
        "every other": numbers[:, ::2],
        "read only": read_only(numbers.astype(np.float32)),
        "texts": np.array(["text"] * rows, dtype=object),
        "flags": numbers[:, 0] > 3,
    }
    assert_equal(passed(ends, columns), columns)


def test_what_came_stays_when_more_comes(ends: Ends) -> None:
    first = passed(ends, {"x": np.zeros(8_000)})
    second = passed(ends, {"x": np.ones(8_000)})
    assert not first["x"].any()
    assert second["x"].all()
    first["x"][:] = 2.0  # it is the receiver's own
    assert passed(ends, {"x": np.ones(8_000)})["x"].all()


def test_both_directions_and_larger_messages(ends: Ends) -> None:
    for rows in (3_000, 100, 50_000, 3_000, 200_000):
        there = {"x": np.arange(float(rows))}
        assert_equal(passed(ends, there), there)
        back = {"y": np.arange(rows)}
        assert_equal(passed(ends[::-1], back), back)


def test_a_message_larger_than_the_memory_may_be_goes_through_the_socket(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(column_pipe, "_MOST_BYTES", 50_000)
    columns = {"x": np.arange(8_000.0)}
    assert_equal(passed(ends, columns), columns)
    assert ends[0]._out is None


def test_where_there_is_no_memory_to_share_it_is_the_socket(
    ends: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: str) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.memfd_create", refused)
    columns = {"x": np.arange(8_000.0)}
    assert_equal(passed(ends, columns), columns)
    assert ends[0]._out is None


def test_large_objects_are_in_memory_too(ends: Ends) -> None:
    pictures = {"p": np.array([bytes([at]) * 9_000 for at in range(100)], dtype=object)}
    assert_equal(passed(ends, pictures), pictures)
    assert ends[0]._out is not None


def test_no_descriptor_stays_open(ends: Ends) -> None:
    before = open_files()
    for rows in (3_000, 50_000, 200_000):
        passed(ends, np.zeros(rows))
    assert open_files() <= before + 2  # those of the mappings
    for end in ends:
        end.close()
    assert open_files() == before - 2


def test_an_end_that_is_gone(ends: Ends) -> None:
    ends[0].close()
    with pytest.raises(EOFError):
        ends[1].recv()
    with pytest.raises(EOFError):
        ends[1].send(np.zeros(8_000))


def test_an_end_that_goes_before_its_memory_came(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_pipe, "send_descriptor", lambda *_: None)
    ends[0].send(np.zeros(8_000))
    ends[0].close()
    with pytest.raises(EOFError):
        ends[1].recv()


@contextlib.contextmanager
def limit(what: int, at: int) -> Iterator[None]:
    before, most = resource.getrlimit(what)
    resource.setrlimit(what, (at, most))
    try:
        yield
    finally:
        resource.setrlimit(what, (before, most))


@pytest.mark.parametrize("what", ["size", "files"])
def test_limits_of_files_do_not_stop_columns(ends: Ends, what: str) -> None:
    columns = {"x": np.arange(80_000.0)}
    passed(ends, {"x": np.arange(8_000.0)})
    limits = {
        "size": (resource.RLIMIT_FSIZE, 1 << 16),
        "files": (resource.RLIMIT_NOFILE, next(at for at in itertools.count() if at not in open_numbers())),
    }
    with limit(*limits[what]):
        assert_equal(passed(ends, columns), columns)
    assert_equal(passed(ends, columns), columns)


def open_numbers() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd")]


def test_a_receiver_that_may_open_no_more_files_says_so(ends: Ends) -> None:
    ends[0].send({"x": np.arange(8_000.0)})
    with limit(resource.RLIMIT_NOFILE, 0), pytest.raises(OSError, match="Too many open files"):
        ends[1].recv()
