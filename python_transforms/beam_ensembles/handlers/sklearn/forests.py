"""Forests of scikit-learn (1.5 to 1.9), without what a call of each tree costs around the tree.

A forest has every tree look at the rows anew, in a job of joblib each: 45 microseconds a tree, of which the tree itself
takes 3 for one row and 150 for 4,096. Here the forest checks the rows once, as it does by itself, and its trees answer
one after another. Sums are taken in the same order, so that the values are equal.

Most of a tree's time goes to branches that the processor did not predict. Many rows are therefore put in the order of
the first tree's leaves: neighbors are alike then, and go much the same way through the other trees, too.

This uses what scikit-learn does not promise (``tree_.predict``, ``_validate_X_predict``). So each forest is asked both
ways when it is loaded, for rows that are made from its own thresholds, and is called as scikit-learn calls it unless
all answers are equal. Versions, subclasses and objects that this module does not know are never called otherwise.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import logging
import warnings
from typing import Any, Final

import numpy as np

_LOGGER: Final = logging.getLogger(__name__)

_KNOWN_VERSIONS: Final = ((1, 5), (1, 9))
"""The first and the last of scikit-learn's that the tests compare."""

_PROBES: Final = 600
"""Rows that a loaded forest is asked both ways: enough that they are put in order."""

_PROBED_CELLS: Final = 1 << 22
"""A forest of more features than fit in here, for all probes, is called as scikit-learn calls it."""

_PROBED_TREES: Final = 8
_PROBED_VALUES: Final = 64
"""The probes are made of so many thresholds of a feature, from so many trees."""

_FEW: Final = 200_000
"""Rows times trees, up to which jobs of joblib take longer than all trees one after another (8 ms)."""

_ROWS_TO_ORDER: Final = 512
"""Rows from which on it takes less time to put them in order than the order saves."""

_TREES_TO_ORDER: Final = 10
"""Trees from which on it does."""


def faster_equivalent(model: Any, method: str) -> Any:
    """Returns a faster equivalent of a loaded model that is a forest or ends in one, else the model itself.

    Args:
        model: An estimator or a pipeline.
        method: The method to call.

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
        """Returns the mean of the trees' probabilities, [N, classes]."""
        mean = self._mean(rows)
        return self.model.predict_proba(rows) if mean is None else mean

    def predict(self, rows: Any) -> Any:
        """Returns the most probable class, or the mean of the trees' values; [N]."""
        mean = self._mean(rows)
        if mean is None:
            return self.model.predict(rows)
        if hasattr(self.model, "classes_"):
            return self.model.classes_.take(np.argmax(mean, axis=1), axis=0)
        return mean[:, 0]

    def _mean(self, rows: Any) -> Any:
        """Returns the mean of the trees' answers, [N, classes] or [N, 1]; None where joblib's jobs are faster."""
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
    """Returns the mean of what the trees say of rows that the forest has checked, [N, classes] or [N, 1]."""
    total = np.zeros((rows.shape[0], trees[0].tree_.max_n_classes))
    for tree in trees:
        total += tree.tree_.predict(rows)
    total /= len(trees)
    return total


def _by_leaf(tree: Any, rows: Any) -> Any:
    """Returns the order of rows, [N], in which those of a leaf stand together, and beside those of leaves near it."""
    narrow = np.min_scalar_type(tree.node_count)  # numpy sorts numbers of up to 16 bits in O(N)
    return np.argsort(tree.apply(rows).astype(narrow), kind="stable")


@dataclasses.dataclass(frozen=True, slots=True)
class _AfterSteps:
    """A pipeline that ends in a forest."""

    steps: Any
    forest: _Forest

    def predict_proba(self, rows: Any) -> Any:
        """Returns what the forest says of the rows that the steps before make."""
        return self.forest.predict_proba(self.steps.transform(rows))

    def predict(self, rows: Any) -> Any:
        """Returns what the forest says of the rows that the steps before make."""
        return self.forest.predict(self.steps.transform(rows))


def _is_known(model: Any, method: str) -> bool:
    """Returns whether a model is a forest of one output that answers the same when its trees are asked here."""
    import sklearn
    from sklearn import ensemble, tree

    first, last = _KNOWN_VERSIONS
    if not first <= tuple(map(int, sklearn.__version__.split(".")[:2])) <= last:
        return False
    trees: dict[type, type] = {
        ensemble.RandomForestClassifier: tree.DecisionTreeClassifier,
        ensemble.ExtraTreesClassifier: tree.ExtraTreeClassifier,
        ensemble.RandomForestRegressor: tree.DecisionTreeRegressor,
        ensemble.ExtraTreesRegressor: tree.ExtraTreeRegressor,
    }
    if type(model) not in trees or method not in ("predict", "predict_proba") or not hasattr(model, method):
        return False
    if getattr(model, "n_outputs_", None) != 1 or not hasattr(model, "_validate_X_predict"):
        return False
    if any(type(one) is not trees[type(model)] or method in vars(one) for one in model.estimators_):
        return False
    return method not in vars(model) and _answers_alike(model, method)


def _answers_alike(model: Any, method: str) -> bool:
    """Compares a forest's own call with the one of this module, on rows made from the forest's thresholds."""
    if model.n_features_in_ * _PROBES > _PROBED_CELLS:
        return False
    alone = copy.copy(model)
    alone.n_jobs = None  # with jobs, scikit-learn adds what the trees say in the order in which they are done
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names: the probes have none
        for rows in _probes(model):
            wanted = _outcome(getattr(alone, method), rows)
            if not _are_equal(wanted, _outcome(getattr(_Forest(alone), method), rows)):
                _LOGGER.info("%s: called as scikit-learn does; its trees alone answer differently", model)
                return False
    return True


def _probes(model: Any) -> tuple[np.ndarray, ...]:
    """Creates rows for a forest, [N, features] each: about its thresholds, without some values, and of extreme ones."""
    random = np.random.default_rng(0)
    found = [tree.tree_ for tree in model.estimators_[:_PROBED_TREES]]
    features = np.concatenate([tree.feature for tree in found])
    order = np.argsort(features, kind="stable")
    thresholds = np.concatenate([tree.threshold for tree in found])[order]
    edges = np.searchsorted(
        features[order], np.arange(model.n_features_in_ + 1)
    )  # leaves have the feature -2
    pools = [_values_about(thresholds[start:end], random) for start, end in itertools.pairwise(edges)]
    finite = np.stack([random.choice(pool, _PROBES) for pool in pools], axis=1)
    missing = finite.copy()
    missing[random.random(finite.shape) < 0.25] = np.nan
    most = float(np.finfo(np.float32).max)
    extreme = random.choice([-most, -1e-40, 0.0, 1e-40, most], (64, model.n_features_in_))
    return finite, finite[:1], missing, extreme, np.full((1, model.n_features_in_), np.nan)


def _values_about(thresholds: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Returns values of a feature: some of its thresholds, what lies next to them, and zero where it has none."""
    if not len(thresholds):
        return np.zeros(1)
    some = random.choice(thresholds, min(len(thresholds), _PROBED_VALUES), replace=False)
    narrow = some.astype(np.float32)  # what a forest makes of the rows
    about = (np.nextafter(narrow, np.float32(way)) for way in (-np.inf, np.inf))
    return np.concatenate([some, narrow, *about]).astype(np.float64)


def _outcome(call: Any, rows: np.ndarray) -> Any:
    """Returns what a call answers, or the kind and the words of its error."""
    try:
        return call(rows)
    except Exception as error:
        return (type(error), str(error))


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) or isinstance(other, tuple):
        return isinstance(one, tuple) and one == other
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
