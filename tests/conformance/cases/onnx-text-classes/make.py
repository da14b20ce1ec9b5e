"""A classifier with text classes, as arrays and as ONNX' maps (ZipMap)."""

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.support.conformance import write

data = load_iris()
x = data.data.astype(np.float32)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x, data.target_names[data.target])
rows = x[::17]
answers = []
for file, options in (("kind.onnx", {"zipmap": False}), ("mapped.onnx", {})):
    graph = to_onnx(model, x[:1], options={id(model): options} if options else None).SerializeToString()
    with open(file, "wb") as out:
        out.write(graph)
    answers.append(
        onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"]).run(None, {"X": rows})
    )
write({"x": rows}, kind=answers[0][0], odds=answers[0][1], by_name=answers[1][1])
