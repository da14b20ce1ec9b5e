"""An imputer and a regression that were turned into a graph: NaN is what is missing."""

import numpy as np
from skl2onnx import to_onnx
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from tests.support.conformance import write_pairs

draw = np.random.default_rng(4)
x = np.c_[draw.integers(18, 90, 100), draw.normal(size=100)].astype(np.float32)
x[::5, 0], x[::7, 1] = np.nan, np.nan
model = make_pipeline(SimpleImputer(), LinearRegression()).fit(
    x, np.nan_to_num(x[:, 0]) + np.nan_to_num(x[:, 1])
)
with open("pair.onnx", "wb") as out:
    out.write(to_onnx(model, x[:1]).SerializeToString())

rows = [
    (30, 0.5, [1.0, 2.0]),
    (None, 0.5, [3.0, 0.25]),
    (40, None, None),
    (None, None, None),
    (77, -1.0, [0.0, 0.0]),
]
said = []
for age, size, pair in rows:
    given = np.array([[age, size], pair or [None, None]], dtype=np.float32)
    listed, tensor = model.predict(given).ravel()
    said.append(({"age": age, "size": size, "x": pair}, {"listed": listed, "tensor": tensor}))
write_pairs(said)
