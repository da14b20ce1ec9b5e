"""The kinds of combining node. A new one is a file beside this one and a line here."""

from __future__ import annotations

from typing import Final

from beam_ensembles.combiners.averages import MEAN, WEIGHTED_MEAN
from beam_ensembles.combiners.hard_vote import HardVoteKind
from beam_ensembles.combiners.soft_vote import SoftVoteKind
from beam_ensembles.graph.kinds import kind_table

COMBINE_KINDS: Final = kind_table([MEAN, WEIGHTED_MEAN, HardVoteKind(), SoftVoteKind()])
"""Each value of a node's ``combine`` key."""
