"""XGBoost's classifier with early stopping, saved with joblib."""

import joblib
import xgboost as xgb
from sklearn.datasets import load_iris

from tests.support.conformance import write

x, y = load_iris(return_X_y=True)
model = xgb.XGBClassifier(n_estimators=40, early_stopping_rounds=3, learning_rate=0.9)
model.fit(x[::2], y[::2], eval_set=[(x[1::2], y[1::2])], verbose=False)
joblib.dump(model, "kind.joblib")
write({"x": x[::17]}, kind=model.predict(x[::17]), odds=model.predict_proba(x[::17]))
