"""A transformer that was defined in the script that trains, as notebooks do."""

import joblib
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline


class Squared(TransformerMixin, BaseEstimator):
    """Squares."""

    def fit(self, x, y=None):
        return self

    def transform(self, x):
        return np.square(x)


joblib.dump(make_pipeline(Squared(), LinearRegression()).fit(np.eye(2), [1.0, 2.0]), "own.joblib")
