"""CatBoost saved by joblib: it counts 0 features there, and knows their names."""

import joblib
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from sklearn.datasets import load_iris

from tests.support.conformance import write

x, y = load_iris(return_X_y=True)
settings = {"iterations": 10, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
model = CatBoostClassifier(**settings).fit(x, y)
joblib.dump(model, "cb.joblib")
frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 2]})
named = CatBoostRegressor(**settings).fit(frame, x[:, 3])
joblib.dump(named, "named.joblib")
rows = slice(None, None, 17)
answers = {"p": model.predict_proba(x[rows]), "named": named.predict(frame[rows])}
write({"petals": x[rows], "a": frame.a[rows], "b": frame.b[rows]}, **answers)
