"""Networks: open lengths, a sequence as answer, control flow, one row at a time, 8 bits within, hidden states."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tests.support.conformance import write
from tests.support.models import write_graph

draw = np.random.default_rng(0)


def part(name, *shape, dtype=np.float32):
    return numpy_helper.from_array(draw.normal(size=shape).astype(dtype), name)


lstm = [
    ("Gather", ["words", "ids"], ["steps"], {"axis": 0}),
    ("LSTM", ["steps", "w", "r", "b"], ["all", "last", ""], {"hidden_size": 2, "layout": 0}),
]
before = [("Transpose", ["ids_nt"], ["ids"], {"perm": [1, 0]})]
after = [
    ("Squeeze", ["all", "one"], ["flat"], {}),
    ("Transpose", ["flat"], ["states"], {"perm": [1, 0, 2]}),
    ("Squeeze", ["last", "zero"], ["end"], {}),
]
one, zero = (numpy_helper.from_array(np.array([at]), name) for at, name in ((1, "one"), (0, "zero")))
weights = [part("words", 9, 3), part("w", 1, 8, 3), part("r", 1, 8, 2), part("b", 1, 16), one, zero]
ids = [("ids_nt", "INT64", ["N", "T"])]
write_graph(
    "lstm.onnx",
    [*before, *lstm, *after],
    ids,
    [("states", "FLOAT", ["N", "T", 2]), ("end", "FLOAT", ["N", 2])],
    weights,
)
scale, nil = numpy_helper.from_array(np.float32(0.05), "scale"), numpy_helper.from_array(np.uint8(20), "nil")
small = [
    ("QuantizeLinear", ["X", "scale", "nil"], ["q"], {}),
    ("DequantizeLinear", ["q", "scale", "nil"], ["d"], {}),
    ("Conv", ["d", "k"], ["c"], {"pads": [1, 1]}),
    ("InstanceNormalization", ["c", "gain", "bias"], ["n"], {}),
    ("GlobalMaxPool", ["n"], ["g"], {}),
    ("Flatten", ["g"], ["Y"], {}),
]
write_graph(
    "small.onnx",
    small,
    [("X", "FLOAT", ["batch", 2, 4])],
    [("Y", "FLOAT", ["batch", 3])],
    [scale, nil, part("k", 3, 2, 3), part("gain", 3), part("bias", 3)],
)
best = [("TopK", ["X", "k"], ["values", "places"], {}), ("Softmax", ["values"], ["share"], {"axis": 1})]
two = numpy_helper.from_array(np.array([2]), "k")
write_graph(
    "best.onnx",
    best,
    [("X", "DOUBLE", [None, 5])],
    [("share", "DOUBLE", [None, 2]), ("places", "INT64", [None, 2]), ("values", "DOUBLE", [None, 2])],
    [two],
)
text = helper.make_tensor_value_info
then = helper.make_graph(
    [helper.make_node("Neg", ["X"], ["t"])], "then", [], [text("t", TensorProto.FLOAT, [1, 2])]
)
other = helper.make_graph(
    [helper.make_node("Exp", ["X"], ["e"])], "else", [], [text("e", TensorProto.FLOAT, [1, 2])]
)
branch = [
    ("ReduceSum", ["X"], ["s"], {"keepdims": 0}),
    ("Less", ["s", "none"], ["low"], {}),
    ("If", ["low"], ["Y"], {"then_branch": then, "else_branch": other}),
]
none = numpy_helper.from_array(np.float32(0), "none")
write_graph("branch.onnx", branch, [("X", "FLOAT", [1, 2])], [("Y", "FLOAT", [1, 2])], [none])


def says(file, **feeds):
    return onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, feeds)


ids = [[1, 2, 3], [4], [5, 6, 7, 8, 1, 2], [4], [0, 3, 0], [8, 8]]
x = draw.normal(size=(6, 2, 4)).astype(np.float32)
y = np.array(
    [[1, 5, 5, 2, 0], [0, 0, 0, 0, 0], [9, -9, 1e9, 3, 4], [-1, -2, -3, -4, -5], [5, 4, 3, 2, 1], [0.1] * 5]
)
states, ends = zip(*(says("lstm.onnx", ids_nt=np.array([one])) for one in ids), strict=True)
share, places, values = says("best.onnx", X=y)
write(
    {"ids": ids, "x": x.reshape(6, 8), "y": y, "z": x[:, 0, :2]},
    states=[one[0] for one in states],
    end=[one[0] for one in ends],
    small=says("small.onnx", X=x)[0],
    share=share,
    places=places,
    values=values,
    branch=[says("branch.onnx", X=one[None])[0][0] for one in x[:, 0, :2]],
)
