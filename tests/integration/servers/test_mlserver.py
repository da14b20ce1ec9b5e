"""A real MLServer, called over gRPC, gives what the same models give here: equal values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.execution.bisecting import run_split
from tests.integration.servers.conftest import TEXTS
from tests.support.mlserver import MLServer
from tests.support.models import cancer, diabetes, iris
from tests.support.nodes import load_node, problems_of, types_of

FOUR = {"x": "array<double>[4]"}
Values = np.ndarray[Any, np.dtype[Any]]


def node(mlserver: MLServer, model: str, **more: Any) -> dict[str, Any]:
    return {"model": "open_inference", "uri": mlserver.uri(model), "inputs": ["x"]} | more


CASES: list[tuple[str, str, Values, dict[str, Any], dict[str, Callable[[Any, Any], Any]]]] = [
    (
        "logistic",
        "array<double>[4]",
        iris().x,
        {"label": {"from": "predict", "type": "int64"}, "p": {"from": "predict_proba"}},
        {"label": lambda model, x: model.predict(x), "p": lambda model, x: model.predict_proba(x)},
    ),
    (
        "forest",
        "array<double>[4]",
        iris().x,
        {"label": {"from": "predict"}},
        {"label": lambda model, x: model.predict(x).astype(object)},
    ),
    (
        "patients",
        "array<double>[10]",
        diabetes().x,
        {"y": "double"},
        {"y": lambda model, x: model.predict(x)},
    ),
    (
        "scaler",
        "array<double>[4]",
        iris().x,
        {"transform": None},
        {"transform": lambda model, x: model.transform(x.astype(np.float32))},
    ),
    (
        "mood",
        "string",
        np.array(TEXTS, object),
        {"predict": None},
        {"predict": lambda model, x: model.predict(list(x)).astype(object)},
    ),
]


@pytest.mark.parametrize(("model", "type_", "x", "outputs", "local"), CASES, ids=[case[0] for case in CASES])
def test_values_are_those_of_the_local_model(
    tmp_path: Path,
    mlserver: MLServer,
    models: dict[str, Any],
    model: str,
    type_: str,
    x: Values,
    outputs: dict[str, Any],
    local: dict[str, Callable[[Any, Any], Any]],
) -> None:
    answer = load_node(tmp_path, {"x": type_}, node(mlserver, model, outputs=outputs))({"x": x})
    assert set(answer) == set(local)
    for column, function in local.items():
        wanted = function(models[model], x)
        np.testing.assert_array_equal(answer[column], wanted.astype(answer[column].dtype))


def test_a_model_without_declared_inputs_takes_what_the_node_declares(
    tmp_path: Path, mlserver: MLServer, models: dict[str, Any]
) -> None:
    x = cancer().x
    outputs = {
        "label": {"from": "predict", "type": "int64"},
        "p": {"from": "predict_proba", "type": "array<double>[2]"},
    }
    named = node(mlserver, "tumours", inputs={"x": "x"}, outputs=outputs)
    answer = load_node(tmp_path, {"x": "array<double>[30]"}, named)({"x": x})
    np.testing.assert_array_equal(answer["label"], models["tumours"].predict(x))
    np.testing.assert_array_equal(answer["p"], models["tumours"].predict_proba(x))


def test_the_servers_own_metadata_give_the_types(tmp_path: Path, mlserver: MLServer) -> None:
    both = {"label": {"from": "predict"}, "p": {"from": "predict_proba"}}
    assert types_of(tmp_path, FOUR, node(mlserver, "logistic", outputs=both)) == {
        "label": "array<int64>[1]",
        "p": "array<double>[3]",
    }
    assert types_of(tmp_path, FOUR, node(mlserver, "forest", outputs={"label": None})) == {"label": "string"}
    five = {"x": "array<double>[5]"}
    assert problems_of(tmp_path, five, node(mlserver, "forest", outputs={"label": None})) == [
        ("signature_mismatch", "inputs")
    ]
    assert problems_of(tmp_path, FOUR, node(mlserver, "nobody", outputs={"label": None})) == [
        ("server_refused", "uri")
    ]


def test_a_row_that_the_model_refuses_is_found(
    tmp_path: Path, mlserver: MLServer, models: dict[str, Any]
) -> None:
    x = iris().x.copy()
    x[77, 2] = np.nan
    member = load_node(tmp_path, FOUR, node(mlserver, "logistic", outputs={"predict": "int64"}))
    outputs, faults = run_split(member, {"x": x}, len(x))
    assert [(at, error.code) for at, error in faults.items()] == [(77, "model_error")]
    assert "NaN" in faults[77].message
    np.testing.assert_array_equal(outputs["predict"], models["logistic"].predict(np.delete(x, 77, axis=0)))
