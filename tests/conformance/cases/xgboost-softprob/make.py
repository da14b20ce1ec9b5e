"""A classifier of three classes: probabilities of a Booster, and classes of the scikit-learn class."""

import json

import xgboost
from sklearn.datasets import load_iris

data = load_iris()
model = xgboost.XGBClassifier(n_estimators=5, max_depth=3).fit(data.data, data.target)
model.save_model("m.json")
rows = data.data[::29]
odds = model.get_booster().predict(xgboost.DMatrix(rows)).tolist()
kinds = model.predict(rows).tolist()
with open("rows.jsonl", "w") as out, open("expected.jsonl", "w") as expected:
    for x, one, kind in zip(rows.tolist(), odds, kinds, strict=True):
        out.write(json.dumps({"x": x}) + "\n")
        expected.write(json.dumps({"odds": one, "kind": kind}) + "\n")
