"""Puts single metrics together to those of nodes and ensembles."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from beam_ensembles.metrics import names
from beam_ensembles.metrics.values import Distribution, EnsembleMetrics, InputMetrics, NodeMetrics

Value: TypeAlias = int | Distribution

_DISTRIBUTIONS: Final = frozenset(
    (
        names.BATCH_SIZE,
        names.BATCH_BYTES,
        names.BATCH_LATENCY,
        names.LOAD_LATENCY,
        names.MODEL_BYTES,
        names.GREATEST_DIFFERENCE,
        names.CALL_LATENCY,
    )
)
_OF_INPUTS: Final = frozenset(field.name for field in dataclasses.fields(InputMetrics)) - {"column"}
_OF_ENSEMBLES: Final = frozenset((names.REFRESHES, names.REFUSED_REFRESHES, names.REFUSED_BY_GATE))
_COUNTERS: Final = (
    frozenset(field.name for field in dataclasses.fields(NodeMetrics))
    - _DISTRIBUTIONS
    - {"node", "arms", "usage"}
)
_FAMILIES: Final = {names.ARM: "arms", names.USAGE: "usage"}
"""Counters whose names begin alike -> the field that has them by the rest of their name."""


class Key(NamedTuple):
    """What a runner knows a metric by: the step of the pipeline, the namespace and the name."""

    step: str
    namespace: str
    name: str


def collected(metrics: Mapping[Key, Value]) -> tuple[EnsembleMetrics, ...]:
    """Returns the metrics of all ensembles among the metrics of a job, by name.

    An ensemble that a pipeline applies several times is one; other metrics are left out.

    Args:
        metrics: Of each step; for each, the committed value where the runner knows one, otherwise the attempted one.
    """
    nodes: dict[str, dict[str, dict[str, Any]]] = {}
    inputs: dict[str, dict[str, dict[str, Any]]] = {}
    of_ensembles: dict[str, dict[str, int]] = {}
    for (_, namespace, name), value in metrics.items():
        ensemble, slash, node = namespace.partition("/")
        if isinstance(value, int) and not slash and name in _OF_ENSEMBLES:
            counts = of_ensembles.setdefault(ensemble, {})
            counts[name] = counts.get(name, 0) + value
        elif ensemble and node.startswith(names.INPUT):
            if _is_of_input(name, value):
                column = node.removeprefix(names.INPUT)
                _add(inputs.setdefault(ensemble, {}).setdefault(column, {}), name, value)
        elif ensemble and node and "/" not in node and _is_ours(name, value):
            _add(nodes.setdefault(ensemble, {}).setdefault(node, {}), name, value)
    return tuple(
        EnsembleMetrics(
            ensemble,
            _nodes(nodes.get(ensemble, {})),
            inputs=_inputs(inputs.get(ensemble, {})),
            **of_ensembles.get(ensemble, {}),
        )
        for ensemble in sorted({*of_ensembles, *nodes, *inputs})
    )


def _is_ours(name: str, value: Value) -> bool:
    if isinstance(value, Distribution):
        return name in _DISTRIBUTIONS
    return name in _COUNTERS or name.startswith(tuple(_FAMILIES))


def _is_of_input(name: str, value: Value) -> bool:
    return name in _OF_INPUTS and isinstance(value, Distribution) == (name == names.STABILITY_INDEX)


def _add(found: dict[str, Any], name: str, value: Value) -> None:
    for start, field in _FAMILIES.items():
        if name.startswith(start):
            found, name = found.setdefault(field, {}), name.removeprefix(start)
            break
    found[name] = found[name] + value if name in found else value


def _nodes(of_it: Mapping[str, dict[str, Any]]) -> tuple[NodeMetrics, ...]:
    return tuple(NodeMetrics(node, **of_it[node]) for node in sorted(of_it))


def _inputs(of_it: Mapping[str, dict[str, Any]]) -> tuple[InputMetrics, ...]:
    return tuple(InputMetrics(column, **of_it[column]) for column in sorted(of_it))
