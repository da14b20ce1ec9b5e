"""A graph that squeezes every dimension of 1, that of the rows too; its outputs have no known rank."""

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

from tests.support.conformance import write

graph = helper.make_graph(
    [
        helper.make_node("Mul", ["X", "X"], ["Z"]),
        helper.make_node("Squeeze", ["Z"], ["Y"]),
        helper.make_node("ReduceSum", ["Z", "axes"], ["R"], keepdims=1),
        helper.make_node("Squeeze", ["R"], ["S"]),
    ],
    "squeeze",
    [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["N", 3])],
    [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("Y", "S")],
    [helper.make_tensor("axes", TensorProto.INT64, [1], [1])],
)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "m.onnx")
rows = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [1.0, 0.0, 1.0]]
three, one = ort.InferenceSession("m.onnx").run(None, {"X": np.array(rows, np.float32)})
write({"x": rows}, three=three, one=one)
