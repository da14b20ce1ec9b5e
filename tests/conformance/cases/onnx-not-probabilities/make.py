"""Raw scores under the name of probabilities: no file says so, every row does."""

import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from tests.support.conformance import write

data = load_iris()
x = data.data.astype(np.float32)
model = LogisticRegression(max_iter=500).fit(x, data.target_names[data.target])
with open("raw.onnx", "wb") as file:
    options = {id(model): {"zipmap": False, "raw_scores": True}}
    file.write(to_onnx(model, x[:1], options=options).SerializeToString())
rows = x[::30]
write({"petals": rows}, error=["vote not_probabilities"] * len(rows))
