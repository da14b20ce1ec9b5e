"""The table of all kinds of nodes that this version runs."""

from __future__ import annotations

from typing import Final

from beam_ensembles.combiners.registry import COMBINE_KINDS
from beam_ensembles.functions.registry import FUNCTION_KINDS
from beam_ensembles.graph.kinds import Kind, Kinds
from beam_ensembles.handlers.registry import MODEL_KINDS
from beam_ensembles.routes.registry import ROUTE_KINDS


def _by_key(*tables: dict[str, Kind]) -> Kinds:
    kinds = [kind for table in tables for kind in table.values()]
    return {(kind.kind, kind.name): kind for kind in kinds}


KINDS: Final[Kinds] = _by_key(dict(MODEL_KINDS), dict(COMBINE_KINDS), dict(ROUTE_KINDS), dict(FUNCTION_KINDS))
"""All kinds by (``model``, ``sklearn``)."""
