"""Forests of scikit-learn (1.5 to 1.9), without what a call of each tree costs around the tree.

A forest has every tree look at the rows anew, in a job of joblib each: 45 microseconds a tree, of which the tree itself
takes 3 for one row and 150 for 4,096. Here the forest checks the rows once, as it does by itself, and its trees answer
one after another. Sums are taken in the same order, so that the values are equal.

Most of a tree's time goes to branches that the processor did not foresee. Many rows are therefore put in the order of
the first tree's leaves: neighbors are alike then, and go much the same way through the other trees, too.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np

_FEW: Final = 200_000
"""Rows times trees, up to which jobs of joblib take longer than all trees one after another (8 ms)."""

_ROWS_TO_ORDER: Final = 512
"""Rows from which on it takes less time to put them in order than the order saves."""

_TREES_TO_ORDER: Final = 10
"""Trees from which on it does."""


def quickened(model: Any, method: str) -> Any:
    """Gives what answers as a loaded model does, and sooner where the model is a forest or ends in one.

    Args:
        model: An estimator or a pipeline.
        method: What is called on it.

    Returns:
        An object with that method, which takes what the model's takes and gives equal values; mostly the model itself.
    """
    from sklearn.pipeline import Pipeline

    if type(model) is not Pipeline:
        return _Forest(model) if _is_known(model, method) else model
    if len(model.steps) > 1 and _is_known(model.steps[-1][1], method):
        return _AfterSteps(model[:-1], _Forest(model.steps[-1][1]))
    return model


@dataclasses.dataclass(frozen=True, slots=True)
class _Forest:
    """A forest of one output."""

    model: Any

    def predict_proba(self, rows: Any) -> Any:
        """Gives the mean of the trees' probabilities, [N, classes]."""
        mean = self._mean(rows)
        return self.model.predict_proba(rows) if mean is None else mean

    def predict(self, rows: Any) -> Any:
        """Gives the most probable class, or the mean of the trees' values; [N]."""
        mean = self._mean(rows)
        if mean is None:
            return self.model.predict(rows)
        if hasattr(self.model, "classes_"):
            return self.model.classes_.take(np.argmax(mean, axis=1), axis=0)
        return mean[:, 0]

    def _mean(self, rows: Any) -> Any:
        """Gives the mean of what the trees say, [N, classes] or [N, 1]; None where jobs of joblib are sooner done."""
        trees = self.model.estimators_
        checked = self.model._validate_X_predict(rows)
        if self.model.n_jobs not in (None, 1) and checked.shape[0] * len(trees) > _FEW:
            return None
        sparse = not isinstance(checked, np.ndarray)
        if sparse or len(checked) < _ROWS_TO_ORDER or len(trees) < _TREES_TO_ORDER:
            return _mean_of(trees, checked)
        order = _by_leaf(trees[0].tree_, checked)
        ordered = _mean_of(trees, checked[order])
        mean = np.empty_like(ordered)
        mean[order] = ordered
        return mean


def _mean_of(trees: Any, rows: Any) -> Any:
    """Gives the mean of what the trees say of rows that the forest has checked, [N, classes] or [N, 1]."""
    total = np.zeros((rows.shape[0], trees[0].tree_.max_n_classes))
    for tree in trees:
        total += tree.tree_.predict(rows)
    total /= len(trees)
    return total


def _by_leaf(tree: Any, rows: Any) -> Any:
    """Gives the order of rows, [N], in which those of a leaf stand together, and beside those of leaves near it."""
    narrow = np.min_scalar_type(tree.node_count)  # numpy sorts numbers of up to 16 bits in O(N)
    return np.argsort(tree.apply(rows).astype(narrow), kind="stable")


@dataclasses.dataclass(frozen=True, slots=True)
class _AfterSteps:
    """A pipeline that ends in a forest."""

    steps: Any
    forest: _Forest

    def predict_proba(self, rows: Any) -> Any:
        """Gives what the forest says of the rows that the steps before make."""
        return self.forest.predict_proba(self.steps.transform(rows))

    def predict(self, rows: Any) -> Any:
        """Gives what the forest says of the rows that the steps before make."""
        return self.forest.predict(self.steps.transform(rows))


def _is_known(model: Any, method: str) -> bool:
    """Says whether a model is a forest of one output whose trees say by themselves what the forest takes of them."""
    from sklearn import ensemble

    classifiers = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier)
    regressors = (ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor)
    forests = {"predict_proba": classifiers, "predict": classifiers + regressors}
    if type(model) not in forests.get(method, ()) or getattr(model, "n_outputs_", None) != 1:
        return False
    first = model.estimators_[0]
    by_itself = first.predict_proba if hasattr(model, "classes_") else first.predict
    row = np.zeros((1, model.n_features_in_), np.float32)
    return hasattr(model, "_validate_X_predict") and np.array_equal(
        np.ravel(by_itself(row, check_input=False)), np.ravel(first.tree_.predict(row))
    )
