"""A file that says that scikit-learn 1.2.2 wrote it, and that this version reads."""

import pickle

import sklearn
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from tests.support.conformance import write

x, y = load_iris(return_X_y=True)
model = LogisticRegression(max_iter=500).fit(x, y)
here = sklearn.__version__.encode()
data = pickle.dumps(model).replace(b"\x8c" + bytes([len(here)]) + here, b"\x8c\x051.2.2")
assert b"1.2.2" in data
with open("kind.pkl", "wb") as file:
    file.write(data)
rows = x[::17]
write({"x": rows}, kind=model.predict(rows))
