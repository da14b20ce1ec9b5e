"""``beam-ensembles workers``: a pool of Python workers beside a runner."""

from __future__ import annotations

from beam_ensembles_service.workers.command import DESCRIPTION, add_arguments, run

__all__ = ["DESCRIPTION", "add_arguments", "run"]
