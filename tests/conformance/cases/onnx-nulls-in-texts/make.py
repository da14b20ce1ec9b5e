"""A graph that takes texts: a tensor of texts has no missing value."""

import json

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import StringTensorType
from sklearn.preprocessing import OneHotEncoder

model = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(np.array([["red"], ["blue"]]))
with open("m.onnx", "wb") as out:
    out.write(to_onnx(model, initial_types=[("colour", StringTensorType([None, 1]))]).SerializeToString())
with open("refused.jsonl", "w") as out:
    said = {
        "code": "type_mismatch",
        "path": "nodes.coded.inputs[0]",
        "says": ["'colour' may be null", "COALESCE"],
    }
    out.write(json.dumps(said) + "\n")
