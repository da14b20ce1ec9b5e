"""The kinds of node that choose an arm. A new one is a file beside this one and a line here."""

from __future__ import annotations

from typing import Final

from beam_ensembles.graph.kinds import kind_table
from beam_ensembles.routes.split import SplitKind
from beam_ensembles.routes.switch import SwitchKind

ROUTE_KINDS: Final = kind_table([SplitKind(), SwitchKind()])
"""Each value of a node's ``route`` key."""
