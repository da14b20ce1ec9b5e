"""Classes 0, 1 and 2: the vote may name them, list them in another order, or leave them as they are."""

import json

import joblib
import numpy as np
import xgboost
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

data = load_iris()
boost = xgboost.XGBClassifier(n_estimators=5, max_depth=2).fit(data.data, data.target)
boost.save_model("boost.json")
bayes = GaussianNB().fit(data.data, data.target)
joblib.dump(bayes, "bayes.joblib")
rows = data.data[::10]
codes = np.mean([boost.predict_proba(rows), bayes.predict_proba(rows)], axis=0).argmax(axis=1).tolist()
with open("rows.jsonl", "w") as file:
    file.writelines(json.dumps({"petals": row.tolist()}) + "\n" for row in rows)
with open("expected.jsonl", "w") as file:
    for code in codes:
        line = {"species": str(data.target_names[code]), "code": code, "place": code}
        file.write(json.dumps(line) + "\n")
