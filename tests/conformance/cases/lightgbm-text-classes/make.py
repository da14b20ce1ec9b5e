"""LightGBM with text classes and early stopping; a vote lists the classes in another order."""

import joblib
import lightgbm as lgb
from sklearn.datasets import load_iris

from tests.support.conformance import write

data = load_iris()
x, names = data.data, data.target_names[data.target]
model = lgb.LGBMClassifier(n_estimators=40, verbose=-1, n_jobs=1)
model.fit(
    x[::2], names[::2], eval_set=[(x[1::2], names[1::2])], callbacks=[lgb.early_stopping(3, verbose=False)]
)
joblib.dump(model, "kind.joblib")
rows = x[::17]
kind = model.predict(rows)
write({"x": rows}, kind=kind, odds=model.predict_proba(rows), voted=kind)
