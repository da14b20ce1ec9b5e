"""XGBoost's classifier in a joblib file, fitted on a DataFrame, with the columns in another order."""

import joblib
import pandas as pd
from sklearn.datasets import load_iris
from xgboost import XGBClassifier

from tests.support.conformance import write

flowers, kinds = load_iris(return_X_y=True)
x = pd.DataFrame(flowers[:, [0, 2]], columns=["sepal", "petal"])
model = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(x, kinds)
joblib.dump(model, "flowers.joblib")
rows = x.iloc[::17]
write(rows, odds=model.predict_proba(rows), kind=model.predict(rows))
