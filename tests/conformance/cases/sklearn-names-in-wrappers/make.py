"""Models that know their features by name, in others that do not say so; the columns stand in another order."""

import joblib
import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import StackingRegressor, VotingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline

from tests.support.conformance import write

draw = np.random.default_rng(0)
frame = pd.DataFrame(
    {"a": draw.normal(size=120), "b": draw.normal(size=120) * 5, "c": draw.integers(0, 9, 120)}
)
target = frame.a * 3 + frame.b + frame.c
settings = {"iterations": 6, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
cat = CatBoostRegressor(**settings)
kind = CatBoostClassifier(**settings).fit(frame, target > 4)
models = {
    "passed": make_pipeline("passthrough", LinearRegression()).fit(frame, target),
    "target": TransformedTargetRegressor(cat).fit(frame, target),
    "steps": make_pipeline(cat).fit(frame, target),
    "searched": GridSearchCV(cat, {"depth": [3]}, cv=2).fit(frame, target),
    "voted": VotingRegressor([("cat", cat), ("lin", make_pipeline(None, LinearRegression()))]).fit(
        frame, target
    ),
    "stacked": StackingRegressor([("cat", cat)], LinearRegression(), cv=2).fit(frame, target),
    "both": MultiOutputRegressor(cat).fit(frame, np.c_[target, -target]),
}
for name, model in models.items():
    joblib.dump(model, f"{name}.joblib")
odds = CalibratedClassifierCV(FrozenEstimator(kind)).fit(frame, target > 4)
joblib.dump(odds, "odds.joblib")
pairs = OneVsOneClassifier(CatBoostClassifier(**settings)).fit(frame, np.digitize(target, [0, 6]))
joblib.dump(pairs, "pairs.joblib")
rows = frame.head(7)
write(
    rows,
    **{name: model.predict(rows) for name, model in models.items()},
    odds=odds.predict_proba(rows),
    pairs=pairs.predict(rows),
)
