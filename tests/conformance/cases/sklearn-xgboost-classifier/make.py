"""XGBoost's classifier in a joblib file, fitted on a DataFrame, with the columns in another order."""

import json

import joblib
import pandas as pd
from sklearn.datasets import load_iris
from xgboost import XGBClassifier

flowers, kinds = load_iris(return_X_y=True)
x = pd.DataFrame(flowers[:, [0, 2]], columns=["sepal", "petal"])
model = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(x, kinds)
joblib.dump(model, "flowers.joblib")
rows = x.iloc[::17]
with open("rows.jsonl", "w") as out, open("expected.jsonl", "w") as expected:
    answers = zip(model.predict_proba(rows).tolist(), model.predict(rows).tolist(), strict=True)
    for row, (odds, kind) in zip(rows.to_dict("records"), answers, strict=True):
        out.write(json.dumps(row) + "\n")
        expected.write(json.dumps({"odds": odds, "kind": kind}) + "\n")
