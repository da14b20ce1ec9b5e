"""Nodes of ONNX on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.support.models import iris, write_graph
from tests.support.nodes import load_node


def test_a_graph_runs_there_and_says_the_same(onnxruntime_on_gpu: Any, tmp_path: Path) -> None:
    from onnx import numpy_helper

    weights = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    write_graph(
        tmp_path / "line.onnx",
        [("MatMul", ["X", "weights"], ["scores"], {}), ("Softmax", ["scores"], ["Y"], {})],
        [("X", "FLOAT", ["N", 4])],
        [("Y", "FLOAT", ["N", 3])],
        [numpy_helper.from_array(weights, "weights")],
    )
    spec = {"model": "onnx", "uri": "line.onnx", "inputs": ["x"], "outputs": {"y": None}}
    four = {"x": "array<double>[4]"}
    here = load_node(tmp_path, four, {**spec, "device": "cpu"})({"x": iris().x})["y"]
    there: Any = load_node(tmp_path, four, {**spec, "device": "gpu"})
    assert there.model.get_providers()[0] == "CUDAExecutionProvider"
    np.testing.assert_allclose(there({"x": iris().x})["y"], here, rtol=1e-3, atol=1e-4)
