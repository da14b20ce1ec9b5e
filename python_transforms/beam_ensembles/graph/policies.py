"""Checks failure policies and shadows of nodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from beam_ensembles.errors import Problem, listed, nearest
from beam_ensembles.graph.plain_values import is_value_of
from beam_ensembles.messages.printable import truncate
from beam_ensembles.spec.model import EnsembleSpec, NodeSpec, OnError
from beam_ensembles.spec.places import below
from beam_ensembles.types import Type


def policies(spec: EnsembleSpec) -> dict[str, OnError]:
    """Settles each node's ``on_error``.

    A shadow's columns are null where it fails, and so are by default those of the members of a combiner with a
    ``quorum``.
    """
    members = {
        column for node in spec.nodes if "quorum" in node.options for column in node.columns
    }  # a file says a quorum because some of them may be missing
    return {node.name: _policy(node, members) for node in spec.nodes}


def _policy(node: NodeSpec, members: set[str]) -> OnError:
    if node.shadow_of is not None:
        return OnError("nullify")
    if node.on_error is not None:
        return node.on_error
    is_member = any(output.column in members for output in node.outputs)
    return OnError("nullify") if is_member else OnError()


def gives_nulls(node: NodeSpec, on_error: OnError) -> bool:
    """Returns whether a node's columns may be null where what it runs gives none."""
    return node.when is not None or on_error.action == "nullify"


def check_defaults(node: NodeSpec, types: Mapping[str, Type | None]) -> Iterator[Problem]:
    """Finds defaults that are missing, of no column of the node, or not of their column's type."""
    if node.on_error is None or node.on_error.action != "default":
        return
    place = node.path("on_error", "default")
    defaults: Mapping[str, Any] = node.on_error.defaults
    columns = list(dict.fromkeys(output.column for output in node.outputs))
    known = frozenset(columns)
    for column, value in defaults.items():
        if column not in known:
            text = (
                f"this node adds no column '{column}'{nearest(column, columns)} (it adds: {listed(columns)})"
            )
            yield Problem(below(place, column), "unknown_column", text)
        elif (type_ := types.get(column)) is not None and not is_value_of(value, type_):
            wanted = truncate(str(type_.required()), 100)
            text = f"the default of '{column}' is {value!r}, which is not of type {wanted}"
            yield Problem(below(place, column), "bad_value", text)
    missing = [column for column in columns if column not in defaults]
    if missing:
        text = f"the default of {listed(missing)} is missing; give one for each column of the node"
        yield Problem(place, "missing_key", text)


def check_shadows(spec: EnsembleSpec, types: Mapping[str, Type | None]) -> Iterator[Problem]:
    """Finds shadows of something other than a node, of a shadow, or of a node with other outputs (``bad_shadow``).

    Also combiners that read one.
    """
    by_name = {node.name: node for node in spec.nodes}
    for node in spec.nodes:
        if node.shadow_of is None:
            continue
        beside = by_name.get(node.shadow_of)
        text = _shadow_problem(node, beside, by_name, spec, types)
        if text:
            yield Problem(node.path("shadow_of"), "bad_shadow", text)
    yield from _shadows_combined(spec)


def _shadows_combined(spec: EnsembleSpec) -> Iterator[Problem]:
    """Finds shadows that are members of a combiner: their answers would reach the rows, and their failures, too."""
    shadows = {
        output.column: node for node in spec.nodes if node.shadow_of is not None for output in node.outputs
    }
    for node in spec.nodes:
        inputs = node.inputs
        if node.kind != "combine" or node.shadow_of is not None or inputs is None:
            continue
        for at, column in enumerate(inputs.columns):
            if (shadow := shadows.get(column)) is not None:
                text = (
                    f"'{column}' is of the shadow '{shadow.name}', whose answers are only compared with those of "
                    f"'{shadow.shadow_of}'; leave it out, or take 'shadow_of' off '{shadow.name}'"
                )
                yield Problem(node.path(inputs.path(at)), "bad_shadow", text)


def _shadow_problem(
    node: NodeSpec,
    beside: NodeSpec | None,
    by_name: Mapping[str, NodeSpec],
    spec: EnsembleSpec,
    types: Mapping[str, Type | None],
) -> str:
    if beside is None and node.shadow_of in spec.disabled:
        return f"the node '{node.shadow_of}' is not enabled; disable its shadow too"
    if beside is None:
        near = nearest(node.shadow_of or "", (name for name in by_name if name != node.name))
        some = list(itertools.islice((name for name in by_name if name != node.name), 12))
        known = listed(some, total=len(by_name) - 1)
        return f"there is no node '{truncate(node.shadow_of or '', 60)}'{near} (nodes: {known})"
    if beside is node:
        return "a node cannot be its own shadow; name the node that it is compared with"
    if beside.shadow_of is not None:
        return f"'{beside.name}' is a shadow itself; name '{beside.shadow_of}', which it runs beside"
    if len(node.outputs) != len(beside.outputs):
        ours, theirs = len(node.outputs), len(beside.outputs)
        return f"this node adds {ours} columns and '{beside.name}' {theirs}; they are compared in their order"
    for own, other in compared(node, beside):
        mine, its = types.get(own), types.get(other)
        if mine is not None and its is not None and mine.required() != its.required():
            return (
                f"'{own}' is {mine.required()} and '{other}', with which it is compared, is {its.required()}"
            )
    return ""


def compared(node: NodeSpec, beside: NodeSpec) -> tuple[tuple[str, str], ...]:
    """Returns the pairs of columns of a shadow and the node beside it, in the order of the file."""
    pairs = zip(node.outputs, beside.outputs, strict=False)
    return tuple((own.column, other.column) for own, other in pairs)
