"""A pipeline of text, whole and other numbers, each an input [N, 1] of its own."""

import numpy as np
import onnxruntime
import pandas as pd
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tests.support.conformance import write

draw = np.random.default_rng(3)
frame = pd.DataFrame(
    {
        "city": draw.choice(["Bonn", "Köln", "Aachen"], 200),
        "rooms": draw.integers(1, 6, 200),
        "size": draw.uniform(20, 200, 200).astype(np.float32),
    }
)
columns = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["city"]),
    (StandardScaler(), ["size"]),
    (StandardScaler(), ["rooms"]),
)
model = make_pipeline(columns, Ridge()).fit(
    frame, frame["size"] * 3 + (frame.city == "Bonn") * 30 + frame.rooms
)
types = [
    ("city", StringTensorType([None, 1])),
    ("rooms", Int64TensorType([None, 1])),
    ("size", FloatTensorType([None, 1])),
]
graph = convert_sklearn(model, initial_types=types).SerializeToString()
with open("price.onnx", "wb") as out:
    out.write(graph)
rows = pd.concat(
    [frame.head(7), pd.DataFrame({"city": ["", "Ulm"], "rooms": [2, 3], "size": np.float32([1.5, 2.5])})]
)
feeds = {name: rows[[name]].to_numpy() for name in rows}
(price,) = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"]).run(None, feeds)
write(rows, price=price[:, 0])
