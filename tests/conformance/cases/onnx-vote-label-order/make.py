"""Text classes in the three places where converters write them, and a vote that lists them in another order."""

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from tests.support.conformance import write

data = load_iris()
x, names = data.data.astype(np.float32), data.target_names[data.target]
members = {
    "zipmap": LogisticRegression(max_iter=500),
    "tensor": DecisionTreeClassifier(max_depth=2, random_state=0),
    "constant": GaussianNB(),
}
rows, shares = x[::10], []
for name, model in members.items():
    model.fit(x, names)
    made = to_onnx(model, x[:1], options={id(model): {"zipmap": name == "zipmap"}}).SerializeToString()
    with open(f"{name}.onnx", "wb") as file:
        file.write(made)
    answer = onnxruntime.InferenceSession(made).run(None, {"X": rows})[1]
    shares.append([[row[one] for one in data.target_names] for row in answer] if name == "zipmap" else answer)
mean = np.mean(np.asarray(shares, np.float64), axis=0)
write({"petals": rows}, species=data.target_names[mean.argmax(axis=1)], confidence=mean.max(axis=1))
