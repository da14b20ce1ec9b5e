"""The kinds of node that compute columns. A new one is a file beside this one and a line here."""

from __future__ import annotations

from typing import Final

from beam_ensembles.functions.processor import ProcessorKind
from beam_ensembles.functions.read.kind import ReadKind
from beam_ensembles.functions.softmax import SoftmaxKind
from beam_ensembles.functions.sql import SqlKind
from beam_ensembles.graph.kinds import kind_table

FUNCTION_KINDS: Final = kind_table(
    [
        ProcessorKind(),
        ReadKind(),
        SoftmaxKind(),
        SqlKind(),
    ]
)
"""Each value of a node's ``apply`` key."""
