"""Calls what a node runs, and finds the rows that it cannot take."""

from __future__ import annotations

import time
from typing import Final

from apache_beam.utils.retry import FuzzedExponentialIntervals

from beam_ensembles.columns.batch import concatenated
from beam_ensembles.errors import (
    ENDS_THE_PROGRAM,
    OUT_OF_MEMORY,
    BatchFailed,
    NodeError,
    SomeFailed,
    TooLargeTogether,
)
from beam_ensembles.graph.kinds import Columns, Member
from beam_ensembles.handlers.support.fitting_rows import FittingRows, release

_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 10.0


def run_split(
    member: Member,
    columns: Columns,
    count: int,
    limit: int | None = None,
    retries: int = 0,
    fitting: FittingRows | None = None,
) -> tuple[Columns, dict[int, NodeError]]:
    """Calls a member with all rows, and where that fails with halves of them, until the bad rows stand alone.

    ``k`` bad rows of ``n`` cost at most about ``2 k log2(n)`` calls more. Where the member says that no row is to blame
    (``BatchFailed``), the rows that have no answer yet all fail with that, and it is not called again; where it names
    the bad rows itself (``SomeFailed``), the others have their answers already.

    Rows that do not fit in memory together are halved too. No later call gets as many, unless a row proves too large
    alone, which explains it.

    Args:
        member: The loaded node.
        columns: What it reads, ``count`` leading items each.
        count: How many rows there are.
        limit: The most rows that one call may get.
        retries: How often a call that failed is made again, after a pause, before its rows are split.
        fitting: What earlier batches have shown of the rows that fit in memory; learns from this one.

    Returns:
        The columns of the rows that went well, in order, and the error of each row that did not, by its position.
    """
    parts: list[Columns] = []
    faults: dict[int, NodeError] = {}
    fitting = FittingRows("") if fitting is None else fitting
    too_many: int | None = None
    size = max(1, min(fitting.limit(limit) or count, count))
    waiting = [(start, min(start + size, count), 0) for start in reversed(range(0, count, size))]
    while waiting:
        start, end, tries = waiting.pop()
        if too_many is not None and end - start >= too_many:
            waiting += _halves(start, end, tries)
            continue
        ran_out = False
        try:
            part = columns if end - start == count else _rows(columns, start, end)
            parts.append(member(part))
            fitting.went_well(end - start)
        except SomeFailed as error:
            faults.update((start + at, fault) for at, fault in error.faults.items())
            if len(error.faults) < end - start:
                parts.append(error.columns)
        except ENDS_THE_PROGRAM:
            raise
        except BaseException as error:  # code that calls sys.exit() ends its row, not the worker
            found = NodeError.of(error)
            ran_out = isinstance(found, TooLargeTogether) and found.code == OUT_OF_MEMORY
            if tries < retries and not isinstance(found, TooLargeTogether):
                time.sleep(_pause(tries))
                waiting.append((start, end, tries + 1))
            elif isinstance(found, BatchFailed):
                return concatenated(parts), faults | dict.fromkeys(range(start, count), found)
            elif end - start == 1:
                faults[start] = _alone(found) if ran_out else found
                too_many = None if ran_out else too_many
            else:
                too_many = end - start if ran_out else too_many
                waiting += _halves(start, end, retries)
            del (
                found
            )  # its traceback has this frame, and with it the member and the tensors of the failed call
        if ran_out:
            release()  # here, where no traceback holds the tensors of the failed call any more
    if too_many is not None:
        fitting.failed(too_many)
    return concatenated(parts), faults


def _halves(start: int, end: int, tries: int) -> list[tuple[int, int, int]]:
    """Returns the halves of some rows, the one that is taken first at the end."""
    middle = (start + end) // 2
    return [(middle, end, tries), (start, middle, tries)]


def _alone(error: NodeError) -> NodeError:
    """Returns the error of a row that does not fit in memory."""
    return NodeError(error.code, "one row alone does not fit in the memory of the device or the worker")


def _rows(columns: Columns, start: int, end: int) -> Columns:
    return {name: values[start:end] for name, values in columns.items()}


def _pause(tries: int) -> float:
    """Returns the seconds before a call is made again: each time twice as long, and different from worker to worker."""
    (*_, pause) = FuzzedExponentialIntervals(_FIRST_PAUSE, tries + 1, max_delay_secs=_LONGEST_PAUSE)
    return float(pause)
