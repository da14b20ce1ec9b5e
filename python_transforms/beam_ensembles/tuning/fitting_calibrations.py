"""Fits calibrations with scikit-learn's ``CalibratedClassifierCV``, and takes over its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from beam_ensembles.errors import EnsembleError
from beam_ensembles.functions.calibrators import ISOTONIC, PLATT, TEMPERATURE, Calibration

_ROUNDING = 1e-6
_NAMES = {PLATT: "sigmoid", ISOTONIC: "isotonic", TEMPERATURE: "temperature"}


def fitted(shares: np.ndarray, true: np.ndarray, method: str) -> Calibration:
    """Returns the calibration of probabilities.

    Args:
        shares: The probabilities, ``[N, classes]``.
        true: The place of each row's class, ``[N]``; every class must be there.
        method: One of ``METHODS``.

    Raises:
        EnsembleError: A class has no row, or scikit-learn cannot fit the method.
    """
    classes = shares.shape[1]
    missing = sorted(set(range(classes)) - set(true.tolist()))
    if missing:
        raise EnsembleError(
            f"no row to tune on has class {missing[0] + 1} of the {classes}; give rows of every class"
        )
    one = scikit_learns(shares, true, method).calibrated_classifiers_[0]
    if method == TEMPERATURE:
        return Calibration(method, temperature=1 / float(one.calibrators[0].beta_))
    if method == PLATT:
        a = tuple(float(each.a_) for each in one.calibrators)
        return Calibration(method, classes, a=a, b=tuple(float(each.b_) for each in one.calibrators))
    return Calibration(
        method,
        classes,
        x=tuple(tuple(map(float, each.X_thresholds_)) for each in one.calibrators),
        y=tuple(tuple(map(float, each.y_thresholds_)) for each in one.calibrators),
    )


def scikit_learns(shares: np.ndarray, true: np.ndarray, method: str) -> Any:
    """Returns scikit-learn's own calibrated classifier of rows that are probabilities already.

    Raises:
        EnsembleError: It cannot fit the method.
    """
    try:
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator
    except ImportError as error:
        raise EnsembleError("calibrations are fitted with scikit-learn 1.6 or newer; install it") from error
    own = FrozenEstimator(_given_probabilities(shares.shape[1]))
    try:
        return CalibratedClassifierCV(own, method=_NAMES[method], ensemble=False).fit(_whole(shares), true)
    except ValueError as error:
        text = str(error).splitlines()[0]
        raise EnsembleError(f"scikit-learn cannot fit the method '{method}' here: {text}") from error


def _whole(shares: np.ndarray) -> np.ndarray:
    """Returns probabilities that add up to 1 as closely as scikit-learn wants of them; single precision does not."""
    total = shares.sum(axis=1, keepdims=True)
    return shares if bool((np.abs(total - 1) < _ROUNDING).all()) else np.asarray(shares / total)


def _given_probabilities(classes: int) -> Any:
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Given(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A fitted classifier whose rows are its probabilities."""

        def __init__(self) -> None:
            self.classes_ = np.arange(classes)

        def fit(self, rows: np.ndarray, true: np.ndarray) -> Given:
            return self

        def predict_proba(self, rows: np.ndarray) -> np.ndarray:
            return rows

        def predict(self, rows: np.ndarray) -> np.ndarray:
            return np.asarray(rows.argmax(axis=1))

    return Given()
