"""scikit-learn, whose functions the metrics are; it is an extra, so it may be missing."""

from __future__ import annotations

import importlib
from typing import Any

from beam_ensembles.errors import EnsembleError


def metric_functions() -> Any:
    """Returns the module ``sklearn.metrics``.

    Raises:
        EnsembleError: It is not installed.
    """
    try:
        return importlib.import_module("sklearn.metrics")
    except ImportError as error:
        text = "evaluate computes its metrics with scikit-learn, which is not installed here; install"
        raise EnsembleError(f"{text} beam-ensembles[sklearn]") from error
