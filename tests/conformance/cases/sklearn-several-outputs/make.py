"""A regressor of two values."""

import joblib
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestRegressor

from tests.support.conformance import write

x, _ = load_iris(return_X_y=True)
model = RandomForestRegressor(5, random_state=0).fit(x, x[:, [0, 3]] * 2)
joblib.dump(model, "two.joblib", compress=3)
write({"x": x[::17]}, two=model.predict(x[::17]))
