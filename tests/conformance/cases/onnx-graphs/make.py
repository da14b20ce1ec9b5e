"""Graphs that squeeze, that take one row at a time, that give truth values, and that compute in 16 bits within."""

import numpy as np
import onnx.numpy_helper
import onnxruntime

from tests.support.conformance import write
from tests.support.models import write_graph

X, N = ("X", "FLOAT", ["N", 3]), ("N", "INT64", ["N"])
square = [
    ("Mul", ["X", "X"], ["S"], {}),
    ("ReduceMean", ["S"], ["M"], {"axes": [1], "keepdims": 1}),
    ("Squeeze", ["M"], ["Y"], {}),
]
write_graph("squeezed.onnx", square, [X], [("Y", "FLOAT", ["M"])])
write_graph("one.onnx", [("Add", ["X", "X"], ["Y"], {})], [("X", "FLOAT", [1, 3])], [("Y", "FLOAT", [1, 3])])
four = onnx.numpy_helper.from_array(np.array([4], np.int64), "four")
write_graph("flags.onnx", [("Greater", ["N", "four"], ["Y"], {})], [N], [("Y", "BOOL", ["N"])], [four])
within = [
    ("Cast", ["X"], ["H"], {"to": 10}),
    ("Mul", ["H", "H"], ["T"], {}),
    ("Cast", ["T"], ["Y"], {"to": 1}),
]
write_graph("half.onnx", within, [X], [("Y", "FLOAT", ["N", 3])])


def says(file, **feeds):
    return onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


x, n = np.linspace(-1, 1, 21, dtype=np.float32).reshape(7, 3), np.arange(7)
twice = np.concatenate([says("one.onnx", X=row[None]) for row in x])
write(
    {"x": x, "n": n},
    total=says("squeezed.onnx", X=x),
    twice=twice,
    large=says("flags.onnx", N=n),
    half=says("half.onnx", X=x),
)
