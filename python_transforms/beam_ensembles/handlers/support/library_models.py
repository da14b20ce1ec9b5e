"""Restrict the functions of known libraries that make a model for the weights in a file.

They could fetch other weights from the web, or read them from any file. The weights of the node's file replace them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.files.ensemble_files import is_of_library
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.spec.places import below

_FETCHES: Final = ("pretrained", "pretrained_backbone", "weights", "weights_backbone")
"""Arguments that name weights to fetch or read."""


def check_params(node: NodeView, params: Mapping[str, Any] | None, name: str, place: str | None) -> None:
    """Report arguments that make a library's function fetch or read other weights than the node's own.

    Args:
        node: The node.
        params: The arguments, its ``model_params``.
        name: Dotted name of the function.
        place: The absolute place of the node's file, if it is known.
    """
    if not is_of_library(name) or params is None:
        return
    if place is not None and node.files.is_trusted(place):
        return
    for key in _FETCHES:
        if params.get(key):
            text = f"'{key}' would fetch or read other weights, which those of 'uri' replace; leave it out"
            node.problem("untrusted_file", below("model_params", key), text)


def arguments(node: CheckedNode, given: Mapping[str, Any] | None, function: Any, name: str) -> dict[str, Any]:
    """Returns the arguments for a node's function or class, which keep a library from fetching weights."""
    params = dict(given or {})
    if not is_of_library(name) or node.is_trusted:
        return params
    known = inspect.signature(function).parameters
    return {**{key: None for key in _FETCHES if key in known}, **params}


def makes_a_model(function: Any, name: str) -> bool:
    """Whether a function may make a model: any of a user's, and those that torchvision lists."""
    if not is_of_library(name):
        return True
    api = sys.modules.get("torchvision.models._api")
    return any(function is known for known in getattr(api, "BUILTIN_MODELS", {}).values())
