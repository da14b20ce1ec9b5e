"""A checked ensemble: every name, type and file is settled."""

from __future__ import annotations

import dataclasses

from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.spec.model import EnsembleSpec
from beam_ensembles.types import Type


@dataclasses.dataclass(frozen=True, slots=True)
class EnsembleGraph:
    """A checked ensemble.

    Attributes:
        spec: The file.
        nodes: The nodes in an order in which each comes after those that it reads from; where several could
        come
            next, they keep the order of the file.
        outputs: The columns that are added to the row, with their types, in order.
    """

    spec: EnsembleSpec
    nodes: tuple[CheckedNode, ...]
    outputs: tuple[tuple[str, Type], ...]
