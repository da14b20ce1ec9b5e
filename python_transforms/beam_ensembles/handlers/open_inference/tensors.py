"""Columns -> the tensors of a request, and the tensors of an answer -> arrays.

Values travel as raw bytes, as the protocol's ``raw_input_contents`` and ``raw_output_contents``; an answer may also
hold them in a list of their own kind.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.graph.output_ports import port_of
from beam_ensembles.handlers.open_inference.metadata import Tensor
from beam_ensembles.handlers.open_inference.signature import ELEMENTS
from beam_ensembles.handlers.support.arguments import Values, cast, join, leaf
from beam_ensembles.types import NUMPY_DTYPES

_DATATYPES: Final = {
    dtype: datatype
    for datatype, element in ELEMENTS.items()
    if (dtype := NUMPY_DTYPES.get(element)) is not None
}
_CONTENTS: Final = {
    "BOOL": "bool_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents",
}  # fmt: skip
"""The field of InferTensorContents that holds values of a datatype; FP16 has none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """One tensor of a request.

    Attributes:
        name: The input's name.
        datatype: The protocol's name of its values' type.
        values: The values, ``[N, ...]``; objects are texts or bytes.
    """

    name: str
    datatype: str
    values: Values


def tensors_of(node: CheckedNode, columns: Columns, inputs: Sequence[Tensor]) -> list[Given]:
    """Creates the tensors of a request of a node's columns.

    Args:
        node: The node, found to fit the model's inputs.
        columns: Its columns.
        inputs: What the server says that the model takes; empty where it does not say.

    Raises:
        NodeError: ``wrong_value`` where a number is too large for the model's type.
    """
    known = {tensor.name: tensor for tensor in inputs}
    ports = node.spec.inputs.ports if node.spec.inputs is not None else None
    if ports is None:
        return [_given(inputs[0].name, join(columns, node.spec.columns), inputs[0])]
    pairs = zip(ports, node.spec.columns, strict=True)
    return [_given(name, columns[column], known.get(name)) for name, column in pairs]


def _given(name: str, values: Values, tensor: Tensor | None) -> Given:
    if tensor is None:
        return Given(name, _DATATYPES.get(values.dtype, "BYTES"), values)
    if tensor.dims is not None and values.ndim != len(tensor.dims):
        values = values.reshape(len(values), *[1] * (len(tensor.dims) - 1))
    dtype = NUMPY_DTYPES.get(ELEMENTS[tensor.datatype])
    fitting = values if dtype is None else cast(values, dtype, "wrong_value", name)
    return Given(name, tensor.datatype, fitting)


def names_wanted(node: CheckedNode, outputs: Sequence[Tensor]) -> list[str]:
    """Returns the outputs to ask for; none asks for what the server gives by itself."""
    names = [tensor.name for tensor in outputs]
    found = [port_of(output, names) if names else output.port for output in node.spec.outputs]
    return list(dict.fromkeys(name for name in found if name)) if None not in found else []


def values_of(response: Any) -> dict[str, Values]:
    """Reads the tensors of an answer by name; BYTES are objects.

    Args:
        response: The protocol's ModelInferResponse.

    Raises:
        NodeError: ``bad_output`` where one cannot be read.
    """
    return {output.name: _values(response, at) for at, output in enumerate(response.outputs)}


def _values(response: Any, at: int) -> Values:
    output = response.outputs[at]
    dtype = NUMPY_DTYPES.get(ELEMENTS.get(output.datatype, ""))
    try:
        if at < len(response.raw_output_contents):
            raw = response.raw_output_contents[at]
            flat = _texts(raw) if dtype is None else np.frombuffer(raw, dtype)
        else:
            flat = np.array(list(getattr(output.contents, _CONTENTS[output.datatype])), dtype or object)
        return flat.reshape(tuple(output.shape))
    except (KeyError, ValueError) as exc:
        shape = list(output.shape)
        text = f"the server's '{output.name}' of {output.datatype} {shape} cannot be read: {exc}"
        raise NodeError("bad_output", text) from exc


def _texts(raw: bytes) -> Values:
    """Reads BYTES: each item is its length in four bytes, the lowest first, then itself."""
    found = []
    at = 0
    while at < len(raw):
        end = at + 4 + int.from_bytes(raw[at : at + 4], "little")
        if end > len(raw):
            raise ValueError(f"an item ends at byte {end} of {len(raw)}")
        found.append(raw[at + 4 : end])
        at = end
    return np.fromiter(found, dtype=object, count=len(found))


def answers_of(node: CheckedNode, found: Mapping[str, Values]) -> Mapping[str, Values]:
    """Returns what the server answered for each output column.

    Args:
        node: The node.
        found: The tensors of the answer by name.

    Raises:
        NodeError: ``bad_output`` where an output is missing, or is not text.
    """
    names = list(found)
    answers = {}
    for output in node.spec.outputs:
        name = port_of(output, names)
        if name is None:
            wanted = output.port or output.column
            raise NodeError("bad_output", f"the server returned no '{wanted}' (it returned: {listed(names)})")
        is_text = leaf(node.outputs[output.column]) == "string"
        answers[output.column] = _decoded(found[name], output.column) if is_text else found[name]
    return answers


def _decoded(values: Values, column: str) -> Values:
    try:
        flat = [item.decode() if isinstance(item, bytes) else item for item in values.reshape(-1).tolist()]
    except UnicodeDecodeError as exc:
        raise NodeError(
            "bad_output", f"'{column}': the server's answer is not text in UTF-8; declare bytes"
        ) from exc
    return np.fromiter(flat, dtype=object, count=len(flat)).reshape(values.shape)
