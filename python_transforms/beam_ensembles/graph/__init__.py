"""Names to a directed acyclic graph, its checks and its plan."""

from __future__ import annotations

from beam_ensembles.graph.checks import check, check_text
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.graph.planning import Plan, Stage, plan

__all__ = ["EnsembleGraph", "Plan", "Stage", "check", "check_text", "plan"]
