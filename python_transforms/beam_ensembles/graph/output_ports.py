"""Which of a kind's ports each output column takes, and whether its declared type can hold the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.graph.shared_options import is_per_row, samples_of
from beam_ensembles.spec.model import NodeSpec, OutputSpec
from beam_ensembles.types import (
    MOST_OF_A_TENSOR,
    NUMPY_DTYPES,
    Array,
    Scalar,
    Type,
    dtype_of,
    holds_too_large,
    row_shape,
)


def port_of(output: OutputSpec, ports: Sequence[str]) -> str | None:
    """Returns a column's port: the one it names (``from``), else its own name, else the only one, else None."""
    if output.port is not None:
        return output.port if output.port in ports else None
    if output.column in ports:
        return output.column
    return ports[0] if len(ports) == 1 else None


def ports_of(spec: NodeSpec, ports: Sequence[str]) -> dict[str, str]:
    """Returns the port of each output column of a node that was checked."""
    found = {output.column: port_of(output, ports) for output in spec.outputs}
    return {column: port for column, port in found.items() if port is not None}


def check_ports(node: NodeView, ports: Sequence[str]) -> dict[str, str]:
    """Returns the port of each output column and reports the columns that have none (``unknown_port``)."""
    for output in node.spec.outputs:
        if port_of(output, ports) is None:
            wanted = output.port or output.column
            node.problem(
                "unknown_port",
                f"outputs.{output.column}",
                f"{node.spec.target} returns no '{wanted}' (it returns: {listed(ports)}; name one with 'from')"
                f"{nearest(wanted, ports)}",
            )
    return ports_of(node.spec, ports)


def settle(node: NodeView, code: str, found: Mapping[str, Type | None]) -> dict[str, Type | None]:
    """Settles the types of a node's output columns: the declared one where it can hold what the node gives.

    Args:
        node: The node.
        code: The problem's code where a declared type cannot hold the answer.
        found: The type of each item that the node gives for each column, where it is known.

    Returns:
        The type of each column of the node's ``outputs``; None where it is not known, or wrong.
    """
    settled: dict[str, Type | None] = {}
    for output in node.spec.outputs:
        given = _of_a_row(node, found.get(output.column), output.type)
        settled[output.column] = output.type or given
        if given is not None and holds_too_large(given):
            text = f"'{output.column}' is too large, as {node.spec.target} gives it: {MOST_OF_A_TENSOR}"
            node.problem(code, f"outputs.{output.column}", text)
            settled[output.column] = None
            continue
        if output.type is not None and given is not None and not holds(output.type, given):
            node.problem(
                code,
                f"outputs.{output.column}",
                f"'{output.column}' is declared {output.type}, but {node.spec.target} gives {given}",
            )
            settled[output.column] = None
    return settled


def _of_a_row(node: NodeView, item: Type | None, declared: Type | None) -> Type | None:
    """Returns the type of a row's answer where a row has several items; it is not known where rows are called alone."""
    samples = samples_of(node.options)
    if item is None or is_per_row(node.options) or not node.wrong.isdisjoint(("samples", "per_row")):
        return None
    if samples is None:
        return item
    scalar = item.element if isinstance(item, Array) and item.shape is not None else item
    if isinstance(declared, Array) and declared.shape is not None and dtype_of(item) is not None:
        return Array(scalar, (samples, *row_shape(item)))
    return Array(item)


def holds(declared: Type, given: Type) -> bool:
    """Returns whether a declared output type can hold a node's answer.

    ``float`` and ``double`` stand for each other, an integer for any other (its values are checked on every
    batch) and for a ``double``; one value a row may come as a scalar or as a tensor of one.
    """
    if isinstance(declared, Array) and declared.shape is None and isinstance(given, Array):
        return holds(declared.element, given.element)
    wanted, found = _element(declared), _element(given)
    if wanted is None or found is None:
        return declared.required() == given.required()
    alike = row_shape(declared) == row_shape(given) or (
        row_shape(declared) == () and row_shape(given) == (1,)
    )
    return alike and _holds_scalar(wanted, found)


def _element(type_: Type) -> str | None:
    if isinstance(type_, Array) and type_.shape is not None:
        return _element(type_.element)
    return type_.name if isinstance(type_, Scalar) else None


def _holds_scalar(wanted: str, found: str) -> bool:
    if wanted == found:
        return True
    if wanted not in NUMPY_DTYPES or found not in NUMPY_DTYPES or "boolean" in (wanted, found):
        return False
    to, of = NUMPY_DTYPES[wanted], NUMPY_DTYPES[found]
    return np.can_cast(of, to, casting="safe") or to.kind == of.kind or {to.kind, of.kind} == {"i", "u"}
