"""A classifier whose classes are neither in order nor 0, 1 and 2; the vote has them in another order than the model."""

import pickle
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import ExtraTreesClassifier

from tests.support.conformance import write

x, y = load_iris(return_X_y=True)
model = ExtraTreesClassifier(7, random_state=0).fit(x, np.array([10, -3, 7])[y])
Path("kind.pkl").write_bytes(pickle.dumps(model))
rows = x[::17]
write({"x": rows}, kind=model.predict(rows), voted=model.predict(rows))
