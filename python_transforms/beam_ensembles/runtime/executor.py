"""Calls what a node runs, and finds the rows that it cannot take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from beam_ensembles.errors import BatchFailed, NodeError, SomeFailed
from beam_ensembles.graph.kinds import Columns, Member, valid_rows, validity


def run_split(
    member: Member, columns: Columns, count: int, limit: int | None = None
) -> tuple[Columns, dict[int, NodeError]]:
    """Calls a member with all rows, and where that fails with halves of them, until the bad rows stand alone.

    ``k`` bad rows of ``n`` cost at most about ``2 k log2(n)`` calls more. Where the member says that no row is to blame
    (``BatchFailed``), the rows that have no answer yet all fail with that, and it is not called again; where it names
    the bad rows itself (``SomeFailed``), the others have their answers already.

    Args:
        member: The loaded node.
        columns: What it reads, ``count`` leading items each.
        count: How many rows there are.
        limit: The most rows that one call may get.

    Returns:
        The columns of the rows that went well, in order, and the error of each row that did not, by its position.
    """
    parts: list[Columns] = []
    faults: dict[int, NodeError] = {}
    size = max(1, min(limit or count, count))
    waiting = [(start, min(start + size, count)) for start in reversed(range(0, count, size))]
    while waiting:
        start, end = waiting.pop()
        try:
            whole = start == 0 and end == count
            part = columns if whole else {name: values[start:end] for name, values in columns.items()}
            parts.append(member(part))
        except BatchFailed as error:
            return _joined(parts), faults | dict.fromkeys(range(start, count), error)
        except SomeFailed as error:
            faults.update((start + at, fault) for at, fault in error.faults.items())
            if len(error.faults) < end - start:
                parts.append(error.columns)
        except Exception as error:
            if end - start == 1:
                faults[start] = NodeError.of(error)
            else:
                middle = (start + end) // 2
                waiting += [(middle, end), (start, middle)]
    return _joined(parts), faults


def _joined(parts: Sequence[Columns]) -> Columns:
    if len(parts) <= 1:
        return parts[0] if parts else {}
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: np.concatenate([_part(part, name) for part in parts]) for name in names}


def _part(part: Columns, name: str) -> np.ndarray:
    """Gives a column of a part; one without nulls may lack the companion that another one has."""
    return part[name] if name in part else valid_rows(part, name.removesuffix(validity("")))
