"""Environment variables hold for a worker process, so that nodes in it must agree on them."""

from __future__ import annotations

import json
from typing import Any

import pytest

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


def env(**variables: str) -> dict[str, Any]:
    return {"env_vars": variables}


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
    assert problems(ensemble(**configs)) == [(TWO, f"nodes.{place}") for place in places]
