"""A graph that takes texts: a tensor of texts has no missing value."""

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import StringTensorType
from sklearn.preprocessing import OneHotEncoder

model = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(np.array([["red"], ["blue"]]))
with open("m.onnx", "wb") as out:
    out.write(to_onnx(model, initial_types=[("colour", StringTensorType([None, 1]))]).SerializeToString())
