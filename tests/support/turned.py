"""A model that says its classes in another order than scikit-learn does."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from sklearn.naive_bayes import GaussianNB

TURNED: Final = ["virginica", "versicolor", "setosa"]
"""The order."""


class Turned(GaussianNB):  # type: ignore[misc]
    """Returns its classes, and probabilities, in this order."""

    classes_: Any

    def fit(self, x: Any, y: Any) -> Turned:
        """Learns from rows, and turns the classes around."""
        super().fit(x, y)
        self._order = [TURNED.index(name) for name in self.classes_]
        self.classes_, self._sorted = np.array(TURNED), self.classes_
        return self

    def predict_proba(self, x: Any) -> Any:
        """Returns the probabilities of rows."""
        turned, self.classes_ = self.classes_, self._sorted
        try:
            return super().predict_proba(x)[:, self._order]
        finally:
            self.classes_ = turned
