"""A classifier whose classes are true and false."""

import joblib
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from tests.support.conformance import write

x, y = load_iris(return_X_y=True)
model = GaussianNB().fit(x, y == 2)
joblib.dump(model, "kind.joblib")
write({"x": x[::17]}, large=model.predict(x[::17]))
