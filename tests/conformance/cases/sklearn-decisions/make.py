"""Thresholds, codes, pairs, chains, several labels of a row, targets that were transformed, and quantiles."""

import joblib
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.svm import SVC, LinearSVC

from tests.support.conformance import write

x, y = load_iris(return_X_y=True)
names, rows = np.array(["setosa", "ä", "B"])[y], x[::11]
simple, flags = LogisticRegression(max_iter=500), np.c_[y > 0, y > 1, y < 1].astype(int)
models = {
    "fixed": FixedThresholdClassifier(simple, threshold=0.2, pos_label="B").fit(
        x, np.where(y > 1, "B", "not B")
    ),
    "tuned": TunedThresholdClassifierCV(simple, scoring="f1", cv=3).fit(x, y > 1),
    "codes": OutputCodeClassifier(simple, random_state=0).fit(x, names),
    "pairs": OneVsOneClassifier(SVC()).fit(x, names),
    "calibrated": CalibratedClassifierCV(LinearSVC(), cv=3).fit(x, names),
    "chain": ClassifierChain(simple).fit(x, flags[:, :2]),
    "several": OneVsRestClassifier(simple).fit(x, flags),
    "undone": TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1).fit(x, y * 10.0),
    "high": HistGradientBoostingRegressor(loss="quantile", quantile=0.9, max_iter=10).fit(x, x[:, 0]),
}
for name, model in models.items():
    joblib.dump(model, f"{name}.joblib")
methods = {"pairs": "decision_function", "calibrated": "predict_proba", "chain": "predict_proba"}
answers = {name: getattr(model, methods.get(name, "predict"))(rows) for name, model in models.items()}
write({"x": rows}, odds=models["several"].predict_proba(rows), **answers)
