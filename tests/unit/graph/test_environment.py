"""Environment variables hold for a worker process, so that nodes in it must agree on them."""

from __future__ import annotations

import json
import types
from typing import Any

import pytest

from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph.environment import check_environment
from beam_ensembles.spec.model import NodeSpec
from tests.unit.graph.conftest import Check, Problems

TWO = "conflicting_env_vars"


def ensemble(**configs: Any) -> str:
    node = {"model": "sklearn", "uri": __file__, "inputs": ["x"]}
    nodes = {
        name: node | {"outputs": {f"{name}_y": "double"}} | ({} if config is None else {"config": config})
        for name, config in configs.items()
    }
    return json.dumps({"ensemble": "test", "inputs": {"x": "double"}, "nodes": nodes})


def test_a_node_in_a_process_of_its_own_may_differ(check: Check) -> None:
    two = json.loads(ensemble(a=env(X="1"), b=env(X="2")))
    two["nodes"]["b"]["isolate"] = "process"
    assert len(check(json.dumps(two)).nodes) == 2


SHORT = {"X": "OMP_NUM_THREADS", "Y": "MKL_NUM_THREADS"}


def env(**variables: str) -> dict[str, Any]:
    return {"env_vars": {SHORT.get(name, name): value for name, value in variables.items()}}


@pytest.mark.parametrize(
    ("configs", "places"),
    [
        ({"a": env(X="1"), "b": env(X="1", Y="2"), "c": env(Y="2"), "d": None}, []),
        ({"a": env(X="1"), "b": env(X="2")}, ["b.config.env_vars.X"]),
        ({"a": env(X="1"), "b": env(X="2"), "c": env(X="3")}, ["b.config.env_vars.X", "c.config.env_vars.X"]),
        ({"a": env(X="1", Y="1"), "b": env(Y="2", X="2")}, ["b.config.env_vars.Y", "b.config.env_vars.X"]),
        ({"a": env(X="1"), "b": env(X="2") | {"model_copies": 2}}, []),
        ({"a": env(X="1") | {"large_model": True}, "b": env(X="2")}, []),
        ({"a": env(X="1"), "b": env(X="2") | {"large_model": False}}, ["b.config.env_vars.X"]),
        ({"a": {"env_vars": "X=1"}, "b": env(X="2")}, []),
    ],
)
def test_nodes_of_a_process_agree_on_its_environment(
    problems: Problems, configs: dict[str, Any], places: list[str]
) -> None:
    assert problems(ensemble(**configs)) == [
        (TWO, f"nodes.{place[:-1]}{SHORT[place[-1]]}") for place in places
    ]


@pytest.mark.parametrize("more", [{}, {"large_model": True}, {"model_copies": 1}])
@pytest.mark.parametrize(
    "name",
    [
        "LD_PRELOAD",
        "PYTHONPATH",
        "HF_ENDPOINT",
        "HTTPS_PROXY",
        "OMP_TOOL_LIBRARIES",
        "TF_XLA_FLAGS",
        "BASH_ENV",
        "A",
    ],
)
def test_a_file_sets_no_variable_that_may_load_code_or_name_a_server(
    problems: Problems, name: str, more: dict[str, Any]
) -> None:
    assert problems(ensemble(a=env(**{name: "1"}) | more)) == [
        ("untrusted_code", f"nodes.a.config.env_vars.{name}")
    ]


@pytest.mark.parametrize(
    ("code", "allowed"), [("env:HF_*", True), ("*", True), ("HF_*", False), ("env:LD_*", False)]
)
def test_a_service_may_allow_variables(code: str, allowed: bool) -> None:
    options = {"config": env(HF_ENDPOINT="https://hub")}
    spec: Any = types.SimpleNamespace(nodes=[NodeSpec("a", "model", "huggingface", None, (), options)])
    assert (not list(check_environment(spec, Files(code=(code,))))) == allowed
