"""``agree``: whether the members gave the same label, and how many of them did."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from beam_ensembles.combiners.members import has_quorum, presence
from beam_ensembles.combiners.options import QuorumOptions, check_members, check_quorum
from beam_ensembles.combiners.vote_counts import Tally, common_label
from beam_ensembles.combiners.vote_outputs import Ballot
from beam_ensembles.graph.class_meanings import Meaning, check_given_labels
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.types import BOOLEAN, DOUBLE, Type

PORTS: Final = ("unanimous", "agreement", "label")


class AgreeKind(Kind[QuorumOptions]):
    """Compares the members' labels; of labels that equally many gave, ``label`` is the lowest."""

    kind = "combine"
    name = "agree"
    summary = "Whether its members agree on the label."
    takes = "The members: columns of labels."
    gives = (
        "unanimous: whether all members agree; agreement: the greatest share of members that agree; "
        "label: their label."
    )
    options = QuorumOptions

    def check(self, node: NodeView[QuorumOptions]) -> Mapping[str, Type | None]:
        """Checks that all members give labels of one kind."""
        check_members(node)
        check_quorum(node)
        given = {"unanimous": BOOLEAN, "agreement": DOUBLE, "label": common_label(node)}
        ports = check_ports(node, PORTS)
        return settle(node, "type_mismatch", {column: given[port] for column, port in ports.items()})

    def meanings(self, node: NodeView) -> Mapping[str, Meaning]:
        """Compares the members' classes."""
        check_given_labels(node, None)
        return {}

    def load(self, node: CheckedNode[QuorumOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        return Agreement(node.spec.columns, has_quorum(node), Ballot.of(node, PORTS))


@dataclasses.dataclass(frozen=True, slots=True)
class Agreement:
    """Counts equal labels.

    Attributes:
        members: The members' columns, each ``[N]``.
        quorum: Whether some members may have no value on a row: then only the others are compared.
        ballot: Writes the result.
    """

    members: tuple[str, ...]
    quorum: bool
    ballot: Ballot

    def __call__(self, columns: Columns) -> Columns:
        """Compares the labels of each row."""
        present = presence(columns, self.members) if self.quorum else None
        label, share = Tally.of([columns[name] for name in self.members], present=present).winners()
        return self.ballot.columns({"unanimous": share == 1, "agreement": share, "label": label})
