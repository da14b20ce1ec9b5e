"""Whole numbers of one's own as classes: a vote gives these, and not their positions."""

import joblib
import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tests.support.conformance import write

data = load_iris()
x, y = data.data.astype(np.float32), np.array([3, 5, 9])[data.target]
logistic = LogisticRegression(max_iter=500).fit(x, y)
joblib.dump(logistic, "logistic.joblib")
tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, y)
with open("tree.onnx", "wb") as file:
    file.write(to_onnx(tree, x[:1], options={id(tree): {"zipmap": False}}).SerializeToString())
rows = x[::10]
mean = np.mean([logistic.predict_proba(rows), tree.predict_proba(rows)], axis=0)
labels = logistic.classes_[mean.argmax(axis=1)].tolist()
names = {3: "three", 5: "five", 9: "nine"}
write({"petals": rows}, plain=labels, turned=labels, named=[names[one] for one in labels])
