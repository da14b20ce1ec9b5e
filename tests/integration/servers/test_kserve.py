"""A real KServe model server, which answers with raw bytes or with lists of values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.execution.bisecting import run_split
from tests.support.kserve_server import running_kserve
from tests.support.nodes import load_node, problems_of, types_of

PAIR = {"x": "array<double>[2]"}


@pytest.fixture(scope="module")
def kserve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server."""
    program = Path(__file__).with_name("kserve_models.py")
    with running_kserve(program, tmp_path_factory.mktemp("kserve"), "double") as address:
        yield address


def node(uri: str) -> dict[str, Any]:
    outputs = {"y": None, "count": "int64", "sign": None}
    return {"model": "open_inference", "uri": uri, "inputs": ["x"], "outputs": outputs}


@pytest.mark.parametrize("model", ["double", "double_raw"])
def test_values_of_every_kind_of_answer(kserve: str, model: str) -> None:
    assert types_of(Path("/"), PAIR, node(kserve + model)) == {
        "y": "array<double>[2]",
        "count": "int64",
        "sign": "string",
    }
    x = np.array([[1.0, 0.0], [0.0, 0.0], [2.5, 3.5]])
    answer = load_node(Path("/"), PAIR, node(kserve + model))({"x": x})
    np.testing.assert_array_equal(answer["y"], x * 2, strict=True)
    assert answer["count"].tolist() == [1, 0, 2]
    assert answer["sign"].tolist() == ["+", "0", "+"]


def test_a_row_that_the_model_refuses_is_found(kserve: str) -> None:
    x = np.ones((50, 2))
    x[17] = -1
    outputs, faults = run_split(load_node(Path("/"), PAIR, node(f"{kserve}double")), {"x": x}, 50)
    assert [(at, error.code) for at, error in faults.items()] == [(17, "model_error")]
    assert outputs["y"].tolist() == [[2.0, 2.0]] * 49


def test_a_model_that_is_not_there_is_refused_before_anything_runs(kserve: str) -> None:
    assert problems_of(Path("/"), PAIR, node(f"{kserve}nobody")) == [("server_refused", "uri")]
