"""The kinds of combining node. A new one is a file beside this one and a line here."""

from __future__ import annotations

from typing import Final

from beam_ensembles.combiners.agree import AgreeKind
from beam_ensembles.combiners.averages import MEAN, WEIGHTED_MEAN
from beam_ensembles.combiners.first import FirstKind
from beam_ensembles.combiners.hard_vote import HardVoteKind
from beam_ensembles.combiners.order_statistics import MAX, MEDIAN, MIN
from beam_ensembles.combiners.rank import RankKind
from beam_ensembles.combiners.soft_vote import SoftVoteKind
from beam_ensembles.combiners.stack import StackKind
from beam_ensembles.graph.kinds import kind_table

COMBINE_KINDS: Final = kind_table(
    [
        MEAN,
        WEIGHTED_MEAN,
        MEDIAN,
        MAX,
        MIN,
        HardVoteKind(),
        SoftVoteKind(),
        StackKind(),
        RankKind(),
        FirstKind(),
        AgreeKind(),
    ]
)
"""Each value of a node's ``combine`` key."""
