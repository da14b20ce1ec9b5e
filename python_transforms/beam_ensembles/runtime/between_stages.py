"""A batch between two stages: the rows as they came, and the columns that later stages read."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch, RowFailure, join
from beam_ensembles.runtime.arrow_source import ArrowSource
from beam_ensembles.runtime.row_source import RowSource

Source: TypeAlias = RowSource | ArrowSource
"""The rows of a batch as they came: ``read`` begins an ensemble with them, ``finish`` builds its outputs."""


@dataclasses.dataclass(frozen=True, slots=True)
class InFlight:
    """A batch on its way.

    Attributes:
        source: The rows as they came, those that failed among them.
        columns: The columns so far, and the rows that failed.
        digest: The version of the ensemble that scores it; empty where there is only one.
    """

    source: Source
    columns: ColumnBatch
    digest: str = ""

    def __len__(self) -> int:
        return len(self.source)

    @property
    def version(self) -> str:
        """What batches that may be joined have in common: the ensemble's version, and what their columns mean."""
        meanings = sorted(self.columns.meanings.items())
        return (
            f"{self.digest}{hashlib.sha256(repr(meanings).encode()).hexdigest()}" if meanings else self.digest
        )

    def part(self, which: np.ndarray) -> tuple[InFlight, InFlight]:
        """Parts the batch in two.

        Args:
            which: For each row that is still being scored whether it goes into the first.

        Returns:
            Both parts; the rows that failed are in the second.
        """
        columns = self.columns
        first, others = np.flatnonzero(which), np.flatnonzero(~which)
        failed = np.array([failure.index for failure in columns.failures], dtype=np.int64)
        taken = columns.take(first, np.arange(len(first), dtype=np.int64))
        one = InFlight(self.source.take(columns.rows[first]), taken, self.digest)
        rest = columns.take(others, np.arange(len(others), dtype=np.int64))
        rest.failures.extend(
            RowFailure(len(others) + at, failure.node, failure.error)
            for at, failure in enumerate(columns.failures)
        )
        left = self.source.take(np.concatenate([columns.rows[others], failed]))
        return one, InFlight(left, rest, self.digest)

    def timed(self, micros: int) -> InFlight:
        """Returns the same batch with an event time for every row: that of the batch where they have none."""
        return InFlight(self.source.timed(micros), self.columns, self.digest)


def joined(parts: Sequence[InFlight]) -> InFlight:
    """Puts batches of the same windows and version into one; none has failures, all have times (``timed``)."""
    first, *others = parts
    if not others:
        return first
    source = first.source.joined([other.source for other in others])  # type: ignore[misc]
    return InFlight(source, join([part.columns for part in parts]), first.digest)
