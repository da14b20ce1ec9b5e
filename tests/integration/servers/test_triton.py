"""A real Triton: every datatype, models that take rows by themselves, refusals, deadlines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.registry import KINDS
from beam_ensembles.spec.model import Inputs, NodeSpec, OutputSpec
from beam_ensembles.types import NUMPY_DTYPES, parse_type
from tests.support.nodes import load_node, problems_of, types_of
from tests.support.tritonserver import Triton, TritonModel, running_triton

DATATYPES = {
    "boolean": "BOOL", "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint8": "UINT8",
    "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64", "float16": "FP16", "float": "FP32",
    "double": "FP64",
}  # fmt: skip
PAIR = {"x": "array<double>[2]"}


def echo(datatype: str, shape: list[int], batch: int = 64) -> TritonModel:
    """A model that gives what it is given."""
    tensor = (datatype, shape)
    return TritonModel({"x": tensor}, {"y": tensor}, "return {'y': x}", batch)


PICKY = """
        if (x < 0).any():
            raise ValueError("a negative number")
        return {"sum": x.sum(axis=1, keepdims=True) + b, "twice": x * 2}
"""
MODELS = {
    "numbers": TritonModel(
        {f"in_{element}": (datatype, [3]) for element, datatype in DATATYPES.items()},
        {element: (datatype, [3]) for element, datatype in DATATYPES.items()},
        "given = dict(locals()); return {name[3:]: given[name] for name in given if name.startswith('in_')}",
    ),
    "words": echo("STRING", [1]),
    "lists": echo("STRING", [-1]),
    "pairs": echo("FP32", [2]),
    "unbatched": echo("FP32", [-1, 2], batch=0),
    "single": echo("FP32", [1, 2], batch=0),
    "letters": TritonModel(
        {"x": ("STRING", [1])},
        {"y": ("STRING", [-1])},
        "return {'y': np.array([list(row[0].decode()) for row in x], dtype=object)}",
    ),
    "picky": TritonModel(
        {"x": ("FP64", [2]), "b": ("FP64", [1])},
        {"sum": ("FP64", [1]), "twice": ("FP64", [2])},
        PICKY.strip(),
    ),
    "slow": TritonModel(
        {"x": ("FP32", [2])}, {"y": ("FP32", [2])}, "import time; time.sleep(2); return {'y': x}"
    ),
}


@pytest.fixture(scope="module")
def triton(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Triton]:
    """A server of ``MODELS``."""
    with running_triton(tmp_path_factory.mktemp("triton"), MODELS) as server:
        yield server


def node(triton: Triton, model: str, **more: Any) -> dict[str, Any]:
    return {
        "model": "open_inference",
        "uri": triton.uri(model),
        "inputs": ["x"],
        "outputs": {"y": None},
    } | more


def test_numbers_of_every_type_go_there_and_back_in_one_request(triton: Triton) -> None:
    types = {element: parse_type(f"array<{element}>[3]") for element in DATATYPES}
    spec = NodeSpec(
        "node",
        "model",
        "open_inference",
        Inputs(tuple(types), tuple(f"in_{element}" for element in types)),
        tuple(OutputSpec(element) for element in types),
    )
    checked = CheckedNode(spec, KINDS[spec.kind, spec.target], types, types, triton.uri("numbers"), "test")
    columns = {element: extremes(NUMPY_DTYPES[element]) for element in types}
    answer = KINDS["model", "open_inference"].load(checked)(columns)
    for element, values in columns.items():
        np.testing.assert_array_equal(answer[element], values, element, strict=True)


def extremes(dtype: np.dtype[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype) if dtype.kind in "iu" else None
    ends = [0, 1] if limits is None else [limits.min, limits.max]
    return np.array([[*ends, 1], [1, 0, 0]], dtype)


@pytest.mark.parametrize(
    ("type_", "values"), [("string", ["", "zwölf", "b"]), ("bytes", [b"", b"\xff\0", b"b"])]
)
def test_texts_and_bytes_go_there_and_back(triton: Triton, type_: str, values: list[Any]) -> None:
    member = load_node(Path("/"), {"x": type_}, node(triton, "words", outputs={"y": type_}))
    assert member({"x": np.array(values, object)})["y"].tolist() == values


def test_lists_of_texts_come_back(triton: Triton) -> None:
    member = load_node(Path("/"), {"x": "string"}, node(triton, "letters", outputs={"y": "array<string>"}))
    assert member({"x": np.array(["ab", "cd"], object)})["y"].tolist() == [["a", "b"], ["c", "d"]]


def test_lists_of_texts_of_any_length_go_there_and_back(triton: Triton) -> None:
    lists = node(triton, "lists", outputs={"y": "array<string>"})
    rows = [["a", "zwölf"], ["b"], ["", "c"], ["d", "e", "f"]]
    values = np.fromiter(rows, dtype=object, count=len(rows))
    assert load_node(Path("/"), {"x": "array<string>"}, lists)({"x": values})["y"].tolist() == rows


def test_a_model_without_batching_takes_rows_by_its_own_shape(triton: Triton) -> None:
    x = np.array([[1.0, 2], [3, 4], [5, 6]])
    assert types_of(Path("/"), PAIR, node(triton, "unbatched")) == {"y": "array<float>[2]"}
    assert load_node(Path("/"), PAIR, node(triton, "unbatched"))({"x": x})["y"].tolist() == x.tolist()
    assert problems_of(Path("/"), PAIR, node(triton, "single"))[0] == ("signature_mismatch", "inputs")
    alone = load_node(Path("/"), PAIR, node(triton, "single", batch={"max": 1}))
    outputs, faults = run_split(alone, {"x": x}, 3, 1)
    assert (outputs["y"].tolist(), faults) == (x.tolist(), {})


def test_a_row_that_the_model_refuses_is_found(triton: Triton) -> None:
    named = node(triton, "picky", inputs={"x": "x", "b": "c"}, outputs={"sum": "double", "twice": None})
    x = np.arange(100.0).reshape(50, 2)
    x[17] = -1
    member = load_node(Path("/"), PAIR | {"c": "double"}, named)
    outputs, faults = run_split(member, {"x": x, "c": np.ones(50)}, 50)
    assert [(at, error.code) for at, error in faults.items()] == [(17, "model_error")]
    assert "a negative number" in faults[17].message
    good = np.delete(x, 17, axis=0)
    assert outputs["sum"].tolist() == (good.sum(axis=1) + 1).tolist()
    assert outputs["twice"].tolist() == (good * 2).tolist()


def test_more_rows_than_the_model_takes_at_once_are_split(triton: Triton) -> None:
    x = np.arange(400.0).reshape(200, 2)
    outputs, faults = run_split(load_node(Path("/"), PAIR, node(triton, "pairs")), {"x": x}, 200)
    assert faults == {}
    assert outputs["y"].tolist() == x.tolist()


def test_a_call_takes_no_longer_than_it_may(triton: Triton) -> None:
    member = load_node(Path("/"), PAIR, node(triton, "slow", timeout=0.5, retries=0))
    _, faults = run_split(member, {"x": np.ones((10, 2))}, 10)
    assert {error.code for error in faults.values()} == {"server_unreachable"}
    assert "DEADLINE_EXCEEDED" in faults[0].message


@pytest.mark.parametrize("model", ["nobody", "words/7"])
def test_a_model_that_is_not_there_is_refused_before_anything_runs(triton: Triton, model: str) -> None:
    assert problems_of(Path("/"), {"x": "string"}, node(triton, model)) == [("server_refused", "uri")]
