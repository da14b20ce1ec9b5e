"""Ensembles of Python models as one step of a Beam pipeline.

What most people need is here; each name is imported when it is first used, so that a part of the package that needs
no Beam (checking a file) does not wait for it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from beam_ensembles.errors import InvalidEnsemble as InvalidEnsemble
    from beam_ensembles.local.ensemble import Ensemble as Ensemble
    from beam_ensembles.metrics import ensemble_metrics as ensemble_metrics
    from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler as EnsembleModelHandler
    from beam_ensembles.runtime.ensemble_handler import InferenceError as InferenceError
    from beam_ensembles.transforms import RunEnsemble as RunEnsemble
    from beam_ensembles.transforms.expansion_service import ExpansionService as ExpansionService

__version__: Final = "0.1.0"

__all__ = [
    "Ensemble",
    "EnsembleModelHandler",
    "ExpansionService",
    "InferenceError",
    "InvalidEnsemble",
    "RunEnsemble",
    "__version__",
    "ensemble_metrics",
]

_MODULES: Final = {
    "Ensemble": "beam_ensembles.local.ensemble",
    "EnsembleModelHandler": "beam_ensembles.runtime.ensemble_handler",
    "ExpansionService": "beam_ensembles.transforms.expansion_service",
    "InferenceError": "beam_ensembles.runtime.ensemble_handler",
    "InvalidEnsemble": "beam_ensembles.errors",
    "RunEnsemble": "beam_ensembles.transforms",
    "ensemble_metrics": "beam_ensembles.metrics",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'beam_ensembles' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)
