"""A batch's columns -> what a graph is fed with; what it gives -> the node's columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView
from beam_ensembles.handlers.onnx.emptiness import refuse_empty
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.arguments import Argument, Values, cast, join
from beam_ensembles.handlers.support.results import to_columns
from beam_ensembles.handlers.support.signature_checks import Feeding, tensor_argument
from beam_ensembles.handlers.support.signatures import Port, Signature
from beam_ensembles.types import NUMPY_DTYPES, Array, Scalar


def list_of_columns(node: NodeView) -> Argument | None:
    """Checks a list of columns as one argument; several texts are a tensor of texts, [N, columns]."""
    types = [node.inputs.get(column) for column in node.spec.columns]
    if len(types) > 1 and all(isinstance(type_, Scalar) and type_.name == "string" for type_ in types):
        return Argument("inputs", "string", (len(types),))
    return tensor_argument(node)


FEEDING: Final = Feeding(list_argument=list_of_columns)


def feeder(
    node: CheckedNode, signature: Signature, only: Port | None
) -> Callable[[Columns], Mapping[str, Values]]:
    """Returns the function that makes a graph's inputs of a batch's columns.

    Args:
        node: The node, which was found to agree with the graph.
        signature: What the graph takes.
        only: The input that a list of columns is for.
    """
    columns, ports = node.spec.columns, node.spec.inputs.ports if node.spec.inputs is not None else None
    given = {port.name: port for port in signature.inputs}
    if ports is not None:
        pairs = [(given[port], column) for port, column in zip(ports, columns, strict=True)]
        return lambda batch: {port.name: _fit(batch[column], port) for port, column in pairs}
    if only is None:
        raise ValueError("a list of columns is for one input")
    return lambda batch: {only.name: _fit(_joined(batch, columns), only)}


def _joined(batch: Columns, columns: tuple[str, ...]) -> Values:
    if len(columns) > 1 and batch[columns[0]].dtype == object:
        return np.stack([batch[column] for column in columns], axis=1)
    return join(batch, columns)


def _fit(values: Values, port: Port) -> Values:
    """Casts values to an input's type and rank; both were found to fit."""
    if port.dims is not None and values.ndim != len(port.dims):
        values = values.reshape(len(values), *[1] * (len(port.dims) - 1))
    dtype = NUMPY_DTYPES.get(port.element or "")
    return values if dtype is None else cast(values, dtype, "wrong_value", port.name)


def extra_feeds(node: CheckedNode, signature: Signature) -> dict[str, Any]:
    """Returns the inputs that a node's ``inference_args`` hold."""
    dtypes = {port.name: NUMPY_DTYPES.get(port.element or "") for port in signature.inputs}
    return {name: np.asarray(value, dtypes.get(name)) for name, value in member.inference_args(node).items()}


def call(session: Any, batch: list[Any], inference_args: Mapping[str, Any] | None) -> list[Any]:
    """Beam's ``inference_fn``: the batch is what is wanted and what is given, the answer one mapping."""
    names, feeds = batch[0]
    return [dict(zip(names, session.run(names, {**feeds, **(inference_args or {})}), strict=True))]


def call_with_items(session: Any, batch: list[Any], inference_args: Mapping[str, Any] | None) -> list[Any]:
    """Beam's ``inference_fn`` for a graph whose inputs must have items.

    Raises:
        NodeError: ``wrong_length``: one has none.
    """
    refuse_empty({**batch[0][1], **(inference_args or {})})
    return call(session, batch, inference_args)


def columns_of(node: CheckedNode, ports: Mapping[str, Port], answer: Mapping[str, Any], rows: int) -> Columns:
    """Creates a node's columns of what a graph gave.

    Args:
        node: The node.
        ports: The graph's output of each column.
        answer: What the graph gave, by its outputs' names.
        rows: How many rows it was given.
    """
    answers = {name: _values(answer[port.name], port, node, name) for name, port in ports.items()}
    return to_columns(node, answers, rows)


def _values(answer: Any, port: Port, node: CheckedNode, name: str) -> Any:
    """The values of a row's mapping in the order of its keys, where the column is declared as a list of them."""
    is_list = isinstance(node.outputs[name], Array) and isinstance(answer, list)
    if not is_list or not all(isinstance(one, dict) for one in answer):
        return answer
    return [[one[key] for key in sorted(one)] for one in answer]
