"""Inputs in no order and of every type, an optional one, weights in a file beside the graph, texts in and out."""

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from tests.support.conformance import write_pairs
from tests.support.models import write_graph

N = ["N"]
types = {"u": "UINT8", "d": "DOUBLE", "h": "FLOAT16", "s": "INT16", "f": "BOOL"}
nodes = [
    ("Cast", ["u"], ["long"], {"to": onnx.TensorProto.INT64}),
    ("Mul", ["long", "long"], ["squared"], {}),
    ("Mul", ["d", "third"], ["thirds"], {}),
    ("Mul", ["h", "h"], ["h2"], {}),
    ("Cast", ["h2"], ["halves"], {"to": onnx.TensorProto.FLOAT}),
    ("Not", ["f"], ["other"], {}),
    ("Cast", ["s"], ["s32"], {"to": onnx.TensorProto.INT32}),
    ("Cast", ["u"], ["u32"], {"to": onnx.TensorProto.INT32}),
    ("Where", ["f", "s32", "u32"], ["picked"], {}),
]
third = numpy_helper.from_array(np.array(1 / 3), "third")
inputs = [(name, element, N) for name, element in types.items()]
outputs = [("picked", "INT32", N), ("thirds", "DOUBLE", N), ("squared", "INT64", N), ("other", "BOOL", N)]
write_graph("types.onnx", nodes, inputs, [*outputs, ("halves", "FLOAT", N)], [third])

weights = np.arange(3 * 400, dtype=np.float32).reshape(3, 400) / 1000
large = [("MatMul", ["X", "W"], ["M"], {}), ("ReduceMax", ["M"], ["Y"], {"axes": [1], "keepdims": 0})]
parts = [numpy_helper.from_array(weights, "W")]
write_graph("beside.onnx", large, [("X", "FLOAT", ["N", 3])], [("Y", "FLOAT", N)], parts)
loaded = onnx.load("beside.onnx")
onnx.save(loaded, "beside.onnx", save_as_external_data=True, location="beside.weights", size_threshold=0)

words = numpy_helper.from_array(np.array(["größer", "", "cat"], dtype=object), "words")
texts = [
    ("Equal", ["t", "words"], ["same"], {}),
    ("Cast", ["same"], ["places"], {"to": onnx.TensorProto.INT32}),
    ("Cast", ["places"], ["known"], {"to": onnx.TensorProto.FLOAT}),
    ("Identity", ["t"], ["echo"], {}),
]
text = [("t", "STRING", ["N", 1])]
says = [("known", "FLOAT", ["N", 3]), ("echo", "STRING", ["N", 1])]
model = onnx.load(write_graph("texts.onnx", texts, text, says, [words]))
model.opset_import[0].version = 19  # Equal takes texts since then
onnx.save(model, "texts.onnx")


def says_of(file, **feeds):
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return dict(zip([one.name for one in session.get_outputs()], session.run(None, feeds), strict=True))


rows = {
    "u": [0, 255, 7, 16, 1],
    "s": [-32768, 32767, 0, 5, -1],
    "d": [0.1, -1e300, 0.0, 1e-310, 3.0],
    "h": [0.5, -200.0, 1e-7, 0.0, 1.0],
    "f": [True, False, False, True, True],
    "x": np.linspace(-1, 1, 15, dtype=np.float32).reshape(5, 3),
    "t": ["cat", "", "größer", "dog", "Cat"],
}
dtypes = {"u": np.uint8, "s": np.int16, "d": np.float64, "h": np.float16, "f": np.bool_}
said = {
    **says_of("types.onnx", **{name: np.array(rows[name], dtype) for name, dtype in dtypes.items()}),
    "top": says_of("beside.onnx", X=rows["x"])["Y"],
    **says_of("texts.onnx", t=np.array(rows["t"], object)[:, None]),
}
said["echo"] = said["echo"][:, 0]
pairs = [
    ({name: column[at] for name, column in rows.items()}, {name: column[at] for name, column in said.items()})
    for at in range(5)
]
for wrong in ({"u": 256}, {"s": -32769}, {"h": -7e4}):
    pairs.insert(2, (pairs[0][0] | wrong, {"error": "types wrong_value"}))
write_pairs(pairs)
