"""Graphs of one-hot encoders: those that ignore a category that they do not know, and those that fail."""

import numpy as np
import pandas as pd
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from tests.support.conformance import write_pairs

draw = np.random.default_rng(6)
frame = pd.DataFrame(
    {
        "c": pd.Series(draw.choice(["red", "green", "blue"], 100), dtype=object),
        "k": draw.choice([2, 3, 5], 100),
        "n": draw.normal(size=100).astype(np.float32),
    }
)
types = [
    ("c", StringTensorType([None, 1])),
    ("k", Int64TensorType([None, 1])),
    ("n", FloatTensorType([None, 1])),
]
models = {}
for name, handling in (("strict", "error"), ("lax", "ignore")):
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown=handling), ["c"]),
        (OneHotEncoder(handle_unknown=handling), ["k"]),
        ("passthrough", ["n"]),
    )
    models[name] = make_pipeline(columns, Ridge()).fit(frame, frame.n + frame.k + (frame.c == "red"))
    with open(f"{name}.onnx", "wb") as out:
        out.write(to_onnx(models[name], initial_types=types).SerializeToString())

rows = [("red", 2, 0.5), ("", 3, 0.0), ("blue", 4, -1.0), ("violet", 5, 2.0), ("green", 3, 0.25)]
said = []
for colour, doors, n in rows:
    one = pd.DataFrame({"c": pd.Series([colour], dtype=object), "k": [doors], "n": [n]})
    try:
        answer = {name: model.predict(one)[0] for name, model in models.items()}
    except ValueError:
        answer = {"error": "strict unknown_category"}
    said.append(({"colour": colour, "doors": doors, "n": n}, answer))
write_pairs(said)
