"""A node against what its server says of the model: names, dtypes, shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles.errors import listed
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.graph.output_ports import port_of
from beam_ensembles.handlers.open_inference.metadata import Metadata, Tensor
from beam_ensembles.handlers.support.arguments import can_cast, leaf, named_arguments
from beam_ensembles.handlers.support.signature_checks import Feeding, check_signature
from beam_ensembles.handlers.support.signatures import Port, Signature
from beam_ensembles.types import Array, Type

ELEMENTS: Final = {
    "BOOL": "boolean", "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64", "UINT8": "uint8",
    "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64", "FP16": "float16", "FP32": "float",
    "FP64": "double", "BYTES": "bytes",
}  # fmt: skip
"""The protocol's datatype -> the type's name in an ensemble file; BYTES is ``string`` too."""


def _can_send(found: str, wanted: str) -> bool:
    """Returns whether a column may be sent as a datatype; BYTES takes text too."""
    return (found, wanted) == ("string", "bytes") or can_cast(found, wanted)


_FEEDING: Final = Feeding(can_cast=_can_send)


def check_metadata(node: NodeView, found: Metadata | None) -> Mapping[str, Type | None]:
    """Checks a node's inputs and outputs and settles its types.

    Args:
        node: The node.
        found: What the server says; None where it could not be asked.

    Returns:
        The type of each output column; None where it is not known.
    """
    if found is None:
        return check_signature(node, None, _FEEDING)
    foreign = [tensor for tensor in (*found.inputs, *found.outputs) if tensor.datatype not in ELEMENTS]
    for tensor in foreign:
        text = f"the model's '{tensor.name}' holds {tensor.datatype} values (readable: {listed(list(ELEMENTS), 20)})"
        node.problem("signature_mismatch", "uri", text)
    inputs = node.spec.inputs
    if not found.inputs and inputs is not None and inputs.ports is None:
        text = "the server does not say what its model takes: name the input, {NAME: column}"
        node.problem("signature_mismatch", "inputs", text)
        foreign.append(Tensor("", "", None))
    if foreign:
        return {}
    signature = Signature(_inputs(node, found.inputs), _outputs(node, found.outputs))
    return check_signature(node, signature, _FEEDING)


def _inputs(node: NodeView, tensors: Sequence[Tensor]) -> tuple[Port, ...]:
    """Returns the model's inputs; where the server does not say them they are as the node has them."""
    if tensors:
        return tuple(Port(tensor.name, ELEMENTS[tensor.datatype], tensor.dims) for tensor in tensors)
    quiet = dataclasses.replace(node, report=lambda _: None)
    return tuple(
        Port(name, argument.element, None) for name, argument in named_arguments(quiet, lists=True).items()
    )


def _outputs(node: NodeView, tensors: Sequence[Tensor]) -> tuple[Port, ...]:
    """Returns the model's outputs; where the server does not say them they are as the node declares them."""
    if not tensors:
        return tuple(
            Port(output.port or output.column, leaf(output.type) or "bytes", _open_dims(output.type))
            for output in node.spec.outputs
        )
    names = [tensor.name for tensor in tensors]
    declared = {port_of(output, names): output.type for output in node.spec.outputs}
    return tuple(
        Port(tensor.name, _given(tensor, declared.get(tensor.name)), tensor.dims) for tensor in tensors
    )


def _given(tensor: Tensor, declared: Type | None) -> str:
    """Returns the element of an output: BYTES is text unless the node declares bytes."""
    is_text = tensor.datatype == "BYTES" and leaf(declared) != "bytes"
    return "string" if is_text else ELEMENTS[tensor.datatype]


def _open_dims(type_: Type | None) -> tuple[None, ...] | None:
    """Returns the shape of a column of lists of any length; None is that of any other."""
    return (None, None) if isinstance(type_, Array) and type_.shape is None else None
