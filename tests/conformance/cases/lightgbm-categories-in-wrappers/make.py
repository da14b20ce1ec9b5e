"""LightGBM trained on a DataFrame's categories, texts and numbers, inside scikit-learn's models."""

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.support.conformance import write_pairs

draw = np.random.default_rng(5)
frame = pd.DataFrame(
    {
        "town": pd.Categorical(draw.choice(["Ulm", "Bonn", "Rom"], 150)),
        "level": pd.Categorical(draw.choice([20, 5, 10], 150)),
        "size": draw.normal(size=150),
    }
)
target = (frame.town == "Rom") * 3 + (frame.level == 10) * 2 + frame["size"]
small = {"n_estimators": 6, "num_leaves": 5, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
trees = lgb.LGBMClassifier(**small)
scaled = make_column_transformer((StandardScaler(), ["size"]), remainder="passthrough")
models = {
    "calibrated": CalibratedClassifierCV(trees, cv=2),
    "searched": GridSearchCV(trees, {"num_leaves": [4]}, cv=2),
    "voted": VotingClassifier(
        [("a", trees), ("b", lgb.LGBMClassifier(**small, boosting_type="dart"))], voting="soft"
    ),
    "stacked": StackingClassifier([("a", trees)], cv=2),
    "steps": make_pipeline("passthrough", trees),
    "behind": make_pipeline(scaled.set_output(transform="pandas"), clone(trees)),
}
for name, model in models.items():
    joblib.dump(model.fit(frame, target > 2), f"{name}.joblib")
priced = TransformedTargetRegressor(lgb.LGBMRegressor(**small), func=np.log1p, inverse_func=np.expm1)
joblib.dump(priced.fit(frame, target.clip(0)), "priced.joblib")
rows = frame.head(7)
said = {name: model.predict_proba(rows).tolist() for name, model in models.items()}
said["priced"] = priced.predict(rows).tolist()
given = rows.astype({"town": object, "level": int}).to_dict("records")
pairs = [(row, {name: answers[at] for name, answers in said.items()}) for at, row in enumerate(given)]
write_pairs([*pairs, (given[0] | {"town": "Paris"}, {"error": "calibrated unknown_category"})])
