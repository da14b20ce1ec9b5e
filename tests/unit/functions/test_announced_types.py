"""The types that are announced before anything runs are those of the columns that come out, for every function."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.registry import KINDS
from beam_ensembles.types import Array, Row, Scalar, Type, dtype_of, row_shape
from tests.support.media import noise, objects, pixels, png, wav
from tests.support.nodes import check_node

FOLDER = Path("/")
RANDOM = np.random.default_rng(1)
PYTHON = {"f": float, "i": int, "u": int, "b": bool}


def is_of(value: Any, type_: Type) -> bool:
    """Returns whether a value of an object column is plain Python of a type; a list may be an array."""
    if isinstance(type_, Row):
        return list(value) == [name for name, _ in type_.fields] and all(
            is_of(value[name], of) for name, of in type_.fields
        )
    if isinstance(type_, Array):
        if isinstance(value, np.ndarray):  # samples
            return type_.shape is None and value.ndim == 1 and value.dtype == dtype_of(type_.element)
        rest = (type_.shape or ())[1:]
        inner = dataclasses.replace(type_, shape=rest) if rest else type_.element
        long_enough = type_.shape is None or len(value) == type_.shape[0]
        return type(value) is list and long_enough and all(is_of(item, inner) for item in value)
    dtype = dtype_of(type_)
    wanted = PYTHON[dtype.kind] if dtype is not None else {"string": str, "bytes": bytes}[str(type_)]
    return type(value) is wanted


def assert_is(column: np.ndarray[Any, Any], type_: Type, rows: int) -> None:
    dtype = dtype_of(type_)
    assert column.shape == (rows, *row_shape(type_))
    assert column.dtype == (dtype or object)
    assert dtype is not None or all(is_of(value, type_) for value in column)


def run(node: CheckedNode, columns: Mapping[str, Any]) -> Mapping[str, np.ndarray[Any, Any]]:
    return KINDS[node.spec.kind, node.spec.target].load(node)(columns)


def of_type(text: str, high: int = 3) -> Any:
    """Creates three rows of numbers of a type, 0 to ``high``."""
    if "[" in text:
        element, shape = text.removeprefix("array<").split(">")
        sides = tuple(map(int, shape.strip("[]").split(",")))
        values = RANDOM.integers(0, high + 1, (3, *sides))
        return values.astype(dtype_of(Scalar(element)))
    if text.startswith("array<array"):
        return objects([[0, high], []], [], [[1]])
    if text.startswith("array<"):
        number = int if "int" in text else float
        return objects(*(list(map(number, row)) for row in ([0, 1, high], [high, 1], [2])))
    return np.array([0, 1, high], dtype_of(Scalar(text)))


SCORES = [
    "array<double>",
    "array<float>",
    "array<int32>",
    "array<float>[4]",
    "array<double>[2,3]",
    "array<int64>[2]",
]
INDICES = ["int32", "int64", "array<int64>", "array<int32>[4]", "array<int64>[2,2]", "array<array<int64>>"]


@pytest.mark.parametrize("type_", SCORES)
@pytest.mark.parametrize(
    "node",
    [
        {"apply": "argmax", "outputs": {"at": None}},
        {"apply": "argmax", "outputs": {"at": {"from": "index"}}},
        {"apply": "top_k", "k": 2, "outputs": {"indices": None, "scores": None}},
    ],
)
def test_scores(type_: str, node: dict[str, Any]) -> None:
    checked = check_node(FOLDER, {"x": type_}, {**node, "inputs": ["x"]})
    for name, column in run(checked, {"x": of_type(type_)}).items():
        assert_is(column, checked.outputs[name], 3)


@pytest.mark.parametrize("type_", INDICES)
@pytest.mark.parametrize("labels", [["a", "b", "c", "d"], [10, 20, 30, 40]])
def test_labels(type_: str, labels: list[Any]) -> None:
    node = {"apply": "labels", "labels": labels, "inputs": ["x"], "outputs": {"y": None}}
    checked = check_node(FOLDER, {"x": type_}, node)
    assert_is(run(checked, {"x": of_type(type_)})["y"], checked.outputs["y"], 3)


@pytest.mark.parametrize(
    "types",
    [
        ("array<double>", "array<int64>"),
        ("array<float>[4]", "array<int32>[4]"),
        ("array<float>[2,2]", "array<int64>[2]"),
        ("array<double>[2,2,3]", "array<int64>[2]"),
    ],
)
def test_zip(types: tuple[str, str]) -> None:
    inputs = dict(zip(("a", "b"), types, strict=True))
    checked = check_node(FOLDER, inputs, {"apply": "zip", "inputs": ["a", "b"], "outputs": {"y": None}})
    assert_is(
        run(checked, {name: of_type(type_) for name, type_ in inputs.items()})["y"], checked.outputs["y"], 3
    )


@pytest.mark.parametrize("type_", ["int64", "float", "array<double>", "array<int32>[4]"])
def test_text(type_: str) -> None:
    node = {"apply": "text", "template": "{x}", "inputs": ["x"], "outputs": {"y": None}}
    checked = check_node(FOLDER, {"x": type_}, node)
    assert_is(run(checked, {"x": of_type(type_)})["y"], checked.outputs["y"], 3)


@pytest.mark.parametrize(
    ("node", "values"),
    [
        ({"apply": "keywords", "outputs": {"keywords": None, "scores": None}}, ["A red house.", "", "Blue"]),
        ({"apply": "audio", "rate": 8_000, "outputs": {"y": None}}, [wav(noise(at, 99)) for at in range(3)]),
        ({"apply": "image", "size": [4, 5], "std": [1, 1, 1], "outputs": {"y": None}}, 3 * [png(pixels(1))]),
        ({"apply": "image", "size": [4, 5], "dtype": "double", "layout": "chw", "outputs": {"y": None}},
         3 * [png(pixels(1))]),
        ({"apply": "image", "size": [4, 5], "colors": "gray", "outputs": {"y": "array<int32>[4,5,1]"}},
         3 * [png(pixels(1))]),
    ],
)  # fmt: skip
def test_texts_sounds_and_images(node: dict[str, Any], values: list[Any]) -> None:
    checked = check_node(
        FOLDER, {"x": "string" if node["apply"] == "keywords" else "bytes"}, {**node, "inputs": ["x"]}
    )
    for name, column in run(checked, {"x": objects(*values)}).items():
        assert_is(column, checked.outputs[name], 3)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float", "double"])
def test_types_that_only_nodes_have(dtype: str) -> None:
    nodes = {
        "decode": {
            "apply": "image",
            "size": [4, 5],
            "dtype": dtype,
            "inputs": ["photo"],
            "outputs": {"pixels": None},
        },
        "best": {
            "apply": "top_k",
            "k": 2,
            "inputs": ["pixels"],
            "outputs": {"indices": None, "scores": None},
        },
    }
    file = {"ensemble": "test", "inputs": {"photo": "bytes"}, "nodes": nodes, "outputs": ["indices"]}
    decode, best = check_text(json.dumps(file), KINDS, Files("/")).nodes
    pictures = run(decode, {"photo": objects(png(pixels(1)), png(pixels(2)))})
    assert str(decode.outputs["pixels"]) == f"array<{dtype}>[4,5,3]"
    assert_is(pictures["pixels"], decode.outputs["pixels"], 2)
    for name, column in run(best, pictures).items():
        assert_is(column, best.outputs[name], 2)
