"""Columns -> the examples of a handler of any class, one per row; its inferences -> columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beam_ensembles.columns.copies import copied
from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.graph.kinds import CheckedNode, Columns, validity
from beam_ensembles.handlers.python.options import PythonOptions
from beam_ensembles.handlers.support.arguments import matrix
from beam_ensembles.handlers.support.missing_values import filler
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.spec.model import OutputSpec
from beam_ensembles.types import dtype_of, row_shape


def examples_of(node: CheckedNode[PythonOptions], columns: Columns) -> list[Any]:
    """Creates the examples of a batch, one per row.

    Args:
        node: The node. A list of one column gives its values: a text, bytes, a number of Python's own, a list, or an
            array for a tensor. A list of several gives arrays [F] of their numbers in order. A mapping gives a
            dictionary from port to value. A null is None, among the numbers of an array NaN.
        columns: The batch.

    Returns:
        The examples, which the handler may change: other nodes, and a second call with these rows, see none of it.
    """
    inputs = node.spec.inputs
    if inputs is not None and inputs.ports is not None:
        values = [_values(columns, column) for column in inputs.columns]
        return [dict(zip(inputs.ports, row, strict=True)) for row in zip(*values, strict=True)]
    if len(node.spec.columns) == 1:
        return _values(columns, node.spec.columns[0])
    return list(matrix(filler(node)(columns), node.spec.columns))


def _values(columns: Columns, name: str) -> list[Any]:
    column, valid = copied(columns[name]), columns.get(validity(name))
    found = list(column) if column.ndim > 1 or column.dtype == object else column.tolist()
    if valid is None:
        return found
    return [value if has_value else None for value, has_value in zip(found, valid.tolist(), strict=True)]


def shape_of_one(node: CheckedNode[PythonOptions]) -> tuple[int, ...] | None:
    """Returns the shape of one prediction, where it becomes the only column as it is; None where that is not known."""
    if len(node.spec.outputs) != 1 or node.spec.outputs[0].port is not None:
        return None
    (type_,) = node.outputs.values()
    is_raw = dtype_of(type_) is not None and not node.options.postprocess
    return row_shape(type_) if is_raw else None


def columns_of(node: CheckedNode[PythonOptions], inferences: Sequence[Any], rows: int) -> Columns:
    """Creates a node's columns of what its handler gave.

    Args:
        node: The node; each output's port is a key, an attribute or an index of the inference, or several of those
            with dots between them (``choices.0.text``). The only output may be the whole inference.
        inferences: An inference a row (``samples`` a row); an exception stands for one that there is not.
        rows: How many rows there are.

    Raises:
        NodeError: ``misaligned`` where there are not as many inferences as rows; ``bad_output`` where one is not as
            declared.
        SomeFailed: Exceptions stand for some inferences.
    """
    failed = [at for at, inference in enumerate(inferences) if isinstance(inference, Exception)]
    if not failed:
        return _columns(node, inferences, rows)
    samples = node.options.samples or 1
    if len(inferences) != rows * samples or node.options.per_row:
        raise NodeError.of(inferences[failed[0]])
    faults = {at // samples: NodeError.of(inferences[at]) for at in reversed(failed)}
    good = [one for at, one in enumerate(inferences) if at // samples not in faults]
    columns = _columns(node, good, rows - len(faults)) if good else {}
    raise SomeFailed(columns, dict(sorted(faults.items())))


def _columns(node: CheckedNode[PythonOptions], inferences: Sequence[Any], rows: int) -> Columns:
    outputs = node.spec.outputs
    answers = {
        output.column: _together([_taken(output, one, len(outputs) == 1) for one in inferences])
        for output in outputs
    }
    return to_columns(node, answers, rows)


def _together(values: list[Any]) -> Any:
    """Returns values as they are, but texts and bytes as objects: numpy's own drop the zeros at their end."""
    if values and isinstance(values[0], str | bytes):
        return np.fromiter(values, dtype=object, count=len(values))
    return values


def _taken(output: OutputSpec, inference: Any, is_only: bool) -> Any:
    """Takes a column's value out of an inference."""
    if output.port is not None:
        return _found(inference, output.port)
    if is_only and not (isinstance(inference, Mapping) and output.column in inference):
        return inference
    return _found(inference, output.column)


def _found(inference: Any, port: str) -> Any:
    if isinstance(inference, Mapping) and port in inference:
        return inference[port]
    found = inference
    for key in port.split("."):
        found = _step(found, key, port)
    return found


def _step(value: Any, key: str, port: str) -> Any:
    if isinstance(value, Mapping) and key in value:
        return value[key]
    if key.isdecimal() and hasattr(value, "__getitem__") and not isinstance(value, Mapping | str | bytes):
        if int(key) < len(value):
            return value[int(key)]
    elif not key.startswith("_") and hasattr(value, key):
        return getattr(value, key)
    known = ", ".join(map(str, value)) if isinstance(value, Mapping) else f"a {type(value).__name__}"
    raise NodeError(
        "bad_output", f"the handler returned no '{port}': there is no '{key}' in {known or 'nothing'}"
    )
