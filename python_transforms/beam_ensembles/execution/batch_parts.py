"""A stage that makes large columns takes a batch in parts: what a node makes is read while a cache still holds it.

A record batch of some hundred small pictures is four megabytes, and their pixels are a hundred. Where every model of
the stage says how many rows each call gets (``batch.max``), such parts take no more calls of any model. Sounds of a few
kilobytes can be gigabytes of samples: a node that can tell how many bytes it makes of each row takes rows of so many.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch, concatenated
from beam_ensembles.graph.core_use import made_bytes
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.support.beam_config import batch_limit

LARGE_BYTES: Final = 16 << 20
"""Fewer bytes are not worth more calls of a stage's other nodes: about what the caches of a processor hold."""


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """How a stage parts its batches.

    Attributes:
        rows: Rows of a part: what the model that takes most gets in one call.
        row_bytes: Bytes of a row in the tensors that the stage's nodes make.
    """

    rows: int
    row_bytes: int

    @classmethod
    def of(cls, nodes: Sequence[CheckedNode]) -> Parts | None:
        """Returns how the stage of some nodes parts its batches; None where one of its models wants whole ones."""
        limits = [batch_limit(node) for node in nodes if node.spec.kind == "model"]
        known = [limit for limit in limits if limit is not None]
        if not known or len(known) < len(limits):
            return None
        return cls(max(known), made_bytes(nodes))

    def are_worth(self, batch: ColumnBatch) -> bool:
        """Whether the columns of a batch would be large."""
        return len(batch) > self.rows and len(batch) * self.row_bytes > LARGE_BYTES

    def places(self, batch: ColumnBatch) -> list[slice]:
        """Returns where the parts of a batch lie in it."""
        return [slice(start, start + self.rows) for start in range(0, len(batch), self.rows)]


def cut(batch: ColumnBatch, places: Iterable[slice]) -> Iterator[ColumnBatch]:
    """Yields the parts of a batch, without its failures."""
    for part in places:
        yield batch.take(part, batch.rows[part])


def join(batch: ColumnBatch, parts: Sequence[ColumnBatch]) -> None:
    """Puts what is left of a batch's parts in its place.

    Args:
        batch: Changed in place.
        parts: Its parts in their order, whose nodes have run. A part without rows may lack columns.
    """
    batch.rows = np.concatenate([part.rows for part in parts])
    batch.failures.extend(failure for part in parts for failure in part.failures)
    left = [part.columns for part in parts if len(part)]
    batch.columns = {}
    batch.add(concatenated(left))


def within(sizes: Sequence[int], most: int) -> list[slice]:
    """Returns parts of rows that are not larger than so many bytes together, or are one row.

    Args:
        sizes: The bytes of each row.
        most: The bytes of a part.
    """
    starts, size = [0], 0
    for at, own in enumerate(sizes):
        size += own
        if size > most and at > starts[-1]:
            starts.append(at)
            size = own
    return [slice(start, end) for start, end in itertools.pairwise([*starts, len(sizes)])]
