"""The coder of what travels between the steps of a stage, with a size that costs nothing to estimate.

The steps are fused where they need the same resources, and then nothing is encoded. But a worker samples the size of
the elements of every step, and Beam's coder for unknown types pickles an element to learn it: a batch of a thousand
rows each time. Written for Beam 2.77.
"""

from __future__ import annotations

import pickle
from typing import Any, Final

from apache_beam.coders import typecoders
from apache_beam.coders.coders import Coder

from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.runtime.arrow_source import ArrowResult
from beam_ensembles.runtime.batch_groups import Group
from beam_ensembles.runtime.between_stages import InFlight
from beam_ensembles.runtime.row_source import BatchResult

_ROW_BYTES: Final = 64
"""What a row is taken to weigh."""


class BatchCoder(Coder):
    """Pickles batches where a runner does not fuse the steps of a stage.

    Args:
        hint: The type of what it encodes.
    """

    def __init__(self, hint: Any = Any) -> None:
        self._hint = hint

    def to_type_hint(self) -> Any:
        """Returns the type of what it encodes: notebooks make pipelines anew from their coders."""
        return self._hint

    def encode(self, value: Any) -> bytes:
        """Pickles a batch or a result."""
        return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)

    def decode(self, encoded: bytes) -> Any:
        """Reads what ``encode`` wrote, in a worker of the same job."""
        return pickle.loads(encoded)  # noqa: S301 - the runner gives back what a step of this stage wrote

    def estimate_size(self, value: Any) -> int:
        """Returns a rough size, in bytes."""
        return _ROW_BYTES * len(value)

    def is_deterministic(self) -> bool:
        """Batches are no keys."""
        return False

    @classmethod
    def from_type_hint(cls, hint: Any, registry: Any) -> Any:
        """Returns the coder for either type."""
        return cls(hint)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BatchCoder)

    def __hash__(self) -> int:
        return hash(BatchCoder)


class SizedCoder(BatchCoder):
    """Likewise for what is in Arrow's memory, whose size is known."""

    def estimate_size(self, value: Any) -> int:
        """Returns the size, in bytes."""
        return int(value.size())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SizedCoder)

    def __hash__(self) -> int:
        return hash(SizedCoder)


def register_batch_types() -> None:
    """Registers the coder of batches and results with Beam."""
    for type_ in (RowBatch, InFlight, BatchResult):
        typecoders.registry.register_coder(type_, BatchCoder)
    for sized in (ArrowResult, Group):
        typecoders.registry.register_coder(sized, SizedCoder)
