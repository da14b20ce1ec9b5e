"""Nodes of TensorRT: engines built from ONNX graphs and engines built before, of fixed and of open batches."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from tests.support.models import iris, write_graph
from tests.support.nodes import load_node

FOUR = {"x": "array<double>[4]"}
TOLERANCE: Final[dict[str, Any]] = {"rtol": 1e-2, "atol": 1e-3}  # TensorRT multiplies in TF32


def line(path: Path, rows: int | str) -> np.ndarray[Any, Any]:
    """Writes a graph of one layer, [rows, 4] to [rows, 3], and gives its weights."""
    helper = importlib.import_module("onnx.numpy_helper")
    weights = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    write_graph(
        path,
        [("MatMul", ["X", "weights"], ["scores"], {}), ("Relu", ["scores"], ["Y"], {})],
        [("X", "FLOAT", [rows, 4])],
        [("Y", "FLOAT", [rows, 3])],
        [helper.from_array(weights, "weights")],
    )
    return weights


def plan_of(trt: Any, graph: Path, profile: tuple[int, int, int] | None) -> bytes:
    """Builds an engine as its owner would, with TensorRT alone."""
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(graph.read_bytes())
    if profile is not None:
        shapes = builder.create_optimization_profile()
        shapes.set_shape("X", *[(rows, 4) for rows in profile])
        config.add_optimization_profile(shapes)
    return bytes(builder.build_serialized_network(network, config))


def node(uri: str, **more: Any) -> dict[str, Any]:
    return {"model": "tensorrt", "uri": uri, "inputs": ["x"], "outputs": {"y": "array<float>[3]"}} | more


@pytest.mark.parametrize("rows", ["N", 16])
def test_a_graph_is_built_and_run(tensorrt_on_gpu: Any, tmp_path: Path, rows: int | str) -> None:
    weights = line(tmp_path / "line.onnx", rows)
    member = load_node(tmp_path, FOUR, node("line.onnx", batch={"max": 32}))
    for count in (1, 7, 16, 32, 150):
        x = iris().x[:count]
        np.testing.assert_allclose(member({"x": x})["y"], np.maximum(x @ weights, 0), **TOLERANCE)


@pytest.mark.parametrize(
    ("rows", "profile"), [(8, None), ("N", (1, 8, 8)), ("N", (4, 16, 64)), ("N", (8, 8, 8))]
)
def test_an_engine_is_loaded_and_run(
    tensorrt_on_gpu: Any, tmp_path: Path, rows: int | str, profile: tuple[int, int, int] | None
) -> None:
    weights = line(tmp_path / "line.onnx", rows)
    (tmp_path / "line.engine").write_bytes(plan_of(tensorrt_on_gpu, tmp_path / "line.onnx", profile))
    member = load_node(tmp_path, FOUR, node("line.engine"))
    answers = [member({"x": iris().x[:count]})["y"] for count in (150, 3, 8, 1)]
    for answer in answers:  # those of earlier batches too: nothing has overwritten them
        x = iris().x[: len(answer)]
        np.testing.assert_allclose(answer, np.maximum(x @ weights, 0), **TOLERANCE)


def test_every_input_is_fed(tensorrt_on_gpu: Any, tmp_path: Path) -> None:
    write_graph(
        tmp_path / "sum.onnx",
        [("Add", ["a", "b"], ["total"], {}), ("Mul", ["a", "b"], ["product"], {})],
        [("a", "FLOAT", ["N", 2]), ("b", "FLOAT", ["N", 2])],
        [("total", "FLOAT", ["N", 2]), ("product", "FLOAT", ["N", 2])],
    )
    spec = node(
        "sum.onnx", inputs={"a": "p", "b": "q"}, outputs={"total": None, "times": {"from": "product"}}
    )
    p, q = iris().x[:, :2], iris().x[:, 2:]
    answer = load_node(tmp_path, {"p": "array<double>[2]", "q": "array<double>[2]"}, spec)({"p": p, "q": q})
    np.testing.assert_allclose(answer["total"], p + q, rtol=1e-5)
    np.testing.assert_allclose(answer["times"], p * q, rtol=1e-5)


def test_what_is_no_engine_is_said(tensorrt_on_gpu: Any, tmp_path: Path) -> None:
    from beam_ensembles.errors import InvalidEnsemble

    (tmp_path / "line.engine").write_bytes(b"no plan")
    with pytest.raises(InvalidEnsemble, match=r"\[load_failed\] nodes\.node\.uri"):
        load_node(tmp_path, FOUR, node("line.engine"))
