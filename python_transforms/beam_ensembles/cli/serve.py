"""``beam-ensembles serve``: the expansion service."""

from __future__ import annotations

from beam_ensembles_service.launch import run
from beam_ensembles_service.settings import DESCRIPTION, add_arguments

__all__ = ["DESCRIPTION", "add_arguments", "run"]
