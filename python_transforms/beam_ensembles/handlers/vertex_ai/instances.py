"""Rows -> the JSON instances of a request to Vertex AI, and its predictions -> what each output column gets."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.graph.output_ports import port_of
from beam_ensembles.handlers.support.arguments import Values, join
from beam_ensembles.types import NUMPY_DTYPES, Array, Map, Row, Scalar, Type


def instances_of(node: CheckedNode, columns: Columns) -> list[Any]:
    """Returns one JSON value per row: the value of a list of columns, or an object with a member per port.

    Bytes are written as Vertex AI has them: ``{"b64": "..."}``.
    """
    ports = node.spec.inputs.ports if node.spec.inputs is not None else None
    if ports is None:
        return _values(join(columns, node.spec.columns))
    parts = [_values(columns[name]) for name in node.spec.columns]
    return [dict(zip(ports, row, strict=True)) for row in zip(*parts, strict=True)]


def _values(column: Values) -> list[Any]:
    values: list[Any] = column.tolist()
    return [_json(value) for value in values] if column.dtype == object else values


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _json(item) for key, item in value.items()}
    return [_json(item) for item in value] if isinstance(value, list | tuple) else value


def answers_of(node: CheckedNode, predictions: Sequence[Any]) -> dict[str, list[Any]]:
    """Returns what each output column gets of one prediction per row.

    A prediction that is an object gives its members as ports; any other is itself the only one.

    Raises:
        NodeError: ``bad_output`` where a prediction lacks what a column is to get.
    """
    outputs = node.spec.outputs
    return {
        output.column: [
            _in_whole_numbers(_part(prediction, output, len(outputs), node), node.outputs[output.column])
            for prediction in predictions
        ]
        for output in outputs
    }


def _part(prediction: Any, output: Any, outputs: int, node: CheckedNode) -> Any:
    names = [str(name) for name in prediction] if isinstance(prediction, Mapping) else []
    port = port_of(output, names)
    if port is not None:
        return prediction[port]
    is_whole = not isinstance(prediction, Mapping) or isinstance(node.outputs[output.column], Map | Row)
    if is_whole and output.port is None and outputs == 1:
        return prediction
    wanted = output.port or output.column
    raise NodeError(
        "bad_output", f"the endpoint returned no '{wanted}' (a prediction holds: {listed(names)})"
    )


def _in_whole_numbers(value: Any, type_: Type) -> Any:
    """Returns numbers as whole ones where the type is: on their way all numbers of Vertex AI are doubles."""
    if isinstance(value, list):
        return [_in_whole_numbers(item, _item_type(type_)) for item in value]
    if isinstance(value, Mapping) and isinstance(type_, Row):
        types = dict(type_.fields)
        return {
            key: _in_whole_numbers(item, types[key]) if key in types else item for key, item in value.items()
        }
    is_whole = (
        isinstance(type_, Scalar) and type_.name in NUMPY_DTYPES and NUMPY_DTYPES[type_.name].kind in "iu"
    )
    return int(value) if is_whole and isinstance(value, float) and value.is_integer() else value


def _item_type(type_: Type) -> Type:
    """Returns the type of the items of a list; one value may come as a list of one."""
    if not isinstance(type_, Array):
        return type_
    inner = (type_.shape or ())[1:]
    return Array(type_.element, inner) if inner else type_.element
