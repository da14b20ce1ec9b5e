"""Classes 0, 1 and 2: the vote may name them, list them in another order, or leave them as they are."""

import joblib
import numpy as np
import xgboost
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from tests.support.conformance import write

data = load_iris()
boost = xgboost.XGBClassifier(n_estimators=5, max_depth=2).fit(data.data, data.target)
boost.save_model("boost.json")
bayes = GaussianNB().fit(data.data, data.target)
joblib.dump(bayes, "bayes.joblib")
rows = data.data[::10]
codes = np.mean([boost.predict_proba(rows), bayes.predict_proba(rows)], axis=0).argmax(axis=1).tolist()
write({"petals": rows}, species=data.target_names[codes], code=codes, place=codes)
