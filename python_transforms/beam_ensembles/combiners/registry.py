"""The kinds of combining node: a new one is a file beside this one and a line here.

The reference, the JSON Schema and ``list`` show the kinds in this order.
Nothing is imported here: a kind's module is imported when a file uses the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

COMBINE_KINDS: Final[Mapping[str, str]] = {
    "mean": "beam_ensembles.combiners.averages:MEAN",
    "weighted_mean": "beam_ensembles.combiners.averages:WEIGHTED_MEAN",
    "median": "beam_ensembles.combiners.order_statistics:MEDIAN",
    "max": "beam_ensembles.combiners.order_statistics:MAX",
    "min": "beam_ensembles.combiners.order_statistics:MIN",
    "hard_vote": "beam_ensembles.combiners.hard_vote:HardVoteKind",
    "soft_vote": "beam_ensembles.combiners.soft_vote:SoftVoteKind",
    "stack": "beam_ensembles.combiners.stack:StackKind",
    "rank": "beam_ensembles.combiners.rank:RankKind",
    "first": "beam_ensembles.combiners.first:FirstKind",
    "agree": "beam_ensembles.combiners.agree:AgreeKind",
}
"""Where each value of a node's ``combine`` key is: ``module:Class``, or ``module:OBJECT``."""
