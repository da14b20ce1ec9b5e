"""An isolation forest: -1 is an outlier."""

import joblib
import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import IsolationForest

from tests.support.conformance import write

x, _ = load_iris(return_X_y=True)
model = IsolationForest(n_estimators=20, random_state=0).fit(x)
joblib.dump(model, "forest.joblib")
rows = np.vstack([x[::17], [[100.0, 0, 0, -5]]])
write({"x": rows}, side=model.predict(rows), score=model.decision_function(rows))
