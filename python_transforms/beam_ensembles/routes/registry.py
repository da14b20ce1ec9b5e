"""The kinds of node that choose an arm: a new one is a file beside this one and a line here.

The reference, the JSON Schema and ``list`` show the kinds in this order.
Nothing is imported here: a kind's module is imported when a file uses the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

ROUTE_KINDS: Final[Mapping[str, str]] = {
    "split": "beam_ensembles.routes.split:SplitKind",
    "switch": "beam_ensembles.routes.switch:SwitchKind",
}
"""Where each value of a node's ``route`` key is: ``module:Class``, or ``module:OBJECT``."""
