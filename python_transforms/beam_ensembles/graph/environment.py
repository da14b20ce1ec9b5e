"""Environment variables that nodes ask for: a worker process has one set of them for all its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from beam_ensembles.errors import Problem
from beam_ensembles.spec.model import EnsembleSpec, NodeSpec
from beam_ensembles.spec.places import below


def check_environment(spec: EnsembleSpec) -> Iterator[Problem]:
    """Finds environment variables to which two nodes of one worker process give different values."""
    first: dict[str, tuple[NodeSpec, Any]] = {}
    for node in spec.nodes:
        for name, value in _variables(node).items():
            owner, wanted = first.setdefault(name, (node, value))
            if value != wanted:
                text = (
                    f"'{node.name}' sets the environment variable '{name}' to another value than '{owner.name}', "
                    "and all nodes of a worker process share them; give it one value, or run one of the two in a "
                    "process of its own: 'isolate: process'"
                )
                yield Problem(below(node.path("config", "env_vars"), name), "conflicting_env_vars", text)


def _variables(node: NodeSpec) -> Mapping[str, Any]:
    """Gives the variables that a node sets in the process that it shares with others."""
    config = node.options.get("config")
    if node.isolated or not isinstance(config, Mapping):
        return {}
    if config.get("large_model") or config.get("model_copies") is not None:
        return {}
    found = config.get("env_vars")
    return found if isinstance(found, Mapping) else {}
