"""The PTransforms of the project."""

from beam_ensembles.transforms.config import RUN_ENSEMBLE, RunEnsembleConfig
from beam_ensembles.transforms.run_ensemble import RunEnsemble, RunEnsembleFromConfig

__all__ = ["RUN_ENSEMBLE", "RunEnsemble", "RunEnsembleConfig", "RunEnsembleFromConfig"]
