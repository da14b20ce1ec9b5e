"""A file that says that scikit-learn 1.2.2 wrote it, and that this version reads."""

import json
import pickle

import sklearn
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

x, y = load_iris(return_X_y=True)
model = LogisticRegression(max_iter=500).fit(x, y)
here = sklearn.__version__.encode()
data = pickle.dumps(model).replace(b"\x8c" + bytes([len(here)]) + here, b"\x8c\x051.2.2")
assert b"1.2.2" in data
with open("kind.pkl", "wb") as file:
    file.write(data)
rows = x[::17]
with open("rows.jsonl", "w") as out, open("expected.jsonl", "w") as expected:
    for row, kind in zip(rows.tolist(), model.predict(rows).tolist(), strict=True):
        out.write(json.dumps({"x": row}) + "\n")
        expected.write(json.dumps({"kind": kind}) + "\n")
