"""A node's ``config``: the keyword arguments of Beam's own handler, and which of them can be honoured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.kinds import CheckedNode, NodeView, Option
from beam_ensembles.spec.places import below

CONFIG: Final = Option("config", "mapping", "Keyword arguments of Beam's own model handler, as they are.")
INFERENCE_ARGS: Final = Option(
    "inference_args", "mapping", "Arguments of each call of the model, as Beam's run_inference takes them."
)
LABELS: Final = Option(
    "labels",
    "list",
    "The model's classes, in the order of its probabilities; votes compare those of their members.",
)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _is_text_mapping(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(text, str) for pair in value.items() for text in pair
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Accepted:
    """A keyword argument of a Beam handler that is honoured.

    Attributes:
        accepts: The allowed values, for people.
        is_valid: Whether a value is one of them.
    """

    accepts: str
    is_valid: Callable[[Any], bool]


HONOURED: Final[Mapping[str, Accepted]] = {
    "max_batch_size": Accepted("a whole number of at least 1", _is_count),
    "env_vars": Accepted("a mapping of texts to texts", _is_text_mapping),
}
"""Arguments that every handler of Beam takes and that are honoured for each node by itself."""

_ROWS_COME_TOGETHER: Final = "all nodes of a stage are given the same rows together"
REFUSED: Final[Mapping[str, str]] = {
    "min_batch_size": f"{_ROWS_COME_TOGETHER}; 'max_batch_size' limits what one call of the model gets",
    "max_batch_duration_secs": f"{_ROWS_COME_TOGETHER}, a bundle's; leave it out",
    "max_batch_weight": f"{_ROWS_COME_TOGETHER}; use 'max_batch_size'",
    "element_size_fn": "a function cannot be written in a file; use 'max_batch_size'",
    "batch_length_fn": "a function cannot be written in a file; use 'max_batch_size'",
    "batch_bucket_boundaries": "rows are never sorted by length; use 'max_batch_size'",
    "large_model": "a stage is loaded once a worker process; limit the worker processes instead",
    "model_copies": "a stage is loaded once a worker process; start more worker processes instead",
    "inference_fn": "a function cannot be written in a file; 'method' says what is called",
}
"""Arguments of every handler of Beam that a fused stage cannot honour, with what to do instead."""


def check_config(node: NodeView, honoured: Mapping[str, Accepted], refused: Mapping[str, str]) -> None:
    """Reports what cannot be in a node's ``config``.

    Args:
        node: The node.
        honoured: The arguments that its handler takes and that are honoured.
        refused: Those that it takes and that are not, with what to do instead.
    """
    config = node.option("config")
    if not isinstance(config, Mapping):
        return
    for name, value in config.items():
        place = below("config", name)
        if name in refused:
            node.problem("unsupported_option", place, f"'{name}' cannot be honoured here: {refused[name]}")
        elif name not in honoured:
            allowed = f"allowed: {listed(sorted(honoured))}"
            node.problem(
                "unknown_option", place, f"unknown argument '{name}'{nearest(name, honoured)} ({allowed})"
            )
        elif not honoured[name].is_valid(value):
            node.problem("bad_value", place, f"'{name}' is {value!r}; allowed: {honoured[name].accepts}")


def batch_limit(node: CheckedNode) -> int | None:
    """Gives the most rows that one call of a node may get (``max_batch_size`` of its ``config``), or None."""
    limit: int | None = (node.spec.options.get("config") or {}).get("max_batch_size")
    return limit
