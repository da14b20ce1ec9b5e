"""A checked ensemble: every name, type and file is settled."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from beam_ensembles.errors import Problem
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.spec.model import EnsembleSpec
from beam_ensembles.types import Type

if TYPE_CHECKING:
    from beam_ensembles.graph.profile_check import CheckedProfile


@dataclasses.dataclass(frozen=True, slots=True)
class EnsembleGraph:
    """A checked ensemble.

    Attributes:
        spec: The file.
        nodes: The nodes in an order in which each comes after those that it reads from; where several could come next,
            they keep the order of the file.
        outputs: The columns that are added to the row, with their types, in order.
        warnings: What could not be checked, such as a server that did not answer.
        profile: What the inputs are compared with while the ensemble runs, if anything.
    """

    spec: EnsembleSpec
    nodes: tuple[CheckedNode, ...]
    outputs: tuple[tuple[str, Type], ...]
    warnings: tuple[Problem, ...] = ()
    profile: CheckedProfile | None = None

    @property
    def columns_read(self) -> tuple[tuple[str, Type], ...]:
        """The inputs that some node reads, with their types; the file may declare more, which is contract only."""
        read = {column for node in self.nodes for column in (*node.inputs, *node.condition)}
        return tuple((name, type_) for name, type_ in self.spec.inputs if name in read)
