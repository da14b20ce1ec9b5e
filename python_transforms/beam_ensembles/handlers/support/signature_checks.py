"""Compares a node with what its model says of itself: what it takes and what it gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.graph.output_ports import check_ports, holds, settle
from beam_ensembles.graph.shared_options import is_per_row
from beam_ensembles.handlers.support.arguments import (
    Argument,
    can_cast,
    list_argument,
    named_arguments,
    shape_text,
)
from beam_ensembles.handlers.support.beam_config import arguments_of, batch_of, config_of
from beam_ensembles.handlers.support.signatures import TENSORS, Port, Signature
from beam_ensembles.types import NUMPY_DTYPES, Array, Map, Row, Scalar, Type, row_shape


def tensor_argument(node: NodeView) -> Argument | None:
    """Checks a list of columns as one tensor, which a list of any length may be too."""
    return list_argument(node, lists=True)


@dataclasses.dataclass(frozen=True, slots=True)
class Feeding:
    """How a framework is given its arguments, as far as frameworks differ.

    Attributes:
        can_cast: Whether a column's values can be given for an input's.
        list_argument: Checks a list of columns as one argument.
    """

    can_cast: Callable[[str, str], bool] = can_cast
    list_argument: Callable[[NodeView], Argument | None] = tensor_argument


_USUAL: Final = Feeding()


def check_signature(
    node: NodeView, signature: Signature | None, feeding: Feeding = _USUAL
) -> Mapping[str, Type | None]:
    """Checks a node's inputs and outputs and settles its types.

    Args:
        node: The node.
        signature: What the model takes and gives; None where it is not known.
        feeding: How the framework is given its arguments.

    Returns:
        The type of each output column; None where it is not known.
    """
    check_inputs(node, signature, feeding)
    return settle(node, "signature_mismatch", _outputs(node, signature))


def check_inputs(node: NodeView, signature: Signature | None, feeding: Feeding = _USUAL) -> None:
    """Compares a node's inputs with those of the model, where they are known."""
    inputs = node.spec.inputs
    if inputs is None:
        return
    if inputs.ports is None:
        argument = feeding.list_argument(node)
        if signature is not None:
            _check_list(node, signature, argument, feeding)
        return
    arguments = named_arguments(node, lists=True)
    if signature is None:
        return
    given = {port.name: port for port in signature.inputs}
    for index, name in enumerate(inputs.ports):
        if name not in given:
            text = (
                f"the model has no input '{name}' (its inputs: {listed(list(given))}){nearest(name, given)}"
            )
            node.problem("unknown_port", inputs.path(index), text)
        elif name in arguments:
            _check_argument(node, given[name], arguments[name], feeding)
    missing = [port.name for port in asked_for(node, signature) if port.name not in inputs.ports]
    if missing:
        node.problem("signature_mismatch", "inputs", f"the model needs its inputs {listed(missing)} too")


def asked_for(node: NodeView, signature: Signature) -> list[Port]:
    """The inputs of a model that its columns must give: what is neither optional nor among ``inference_args``."""
    extra = arguments_of(node.options)
    return [port for port in signature.inputs if port.name not in extra and not port.is_optional]


def _check_list(node: NodeView, signature: Signature, argument: Argument | None, feeding: Feeding) -> None:
    ports = asked_for(node, signature)
    if len(ports) != 1:
        names = [port.name for port in ports]
        example = ", ".join(f"{name}: column" for name in names[:3])
        text = f"the model takes {len(names)} inputs ({listed(names)}): name them, {{{example}}}"
        node.problem("signature_mismatch", "inputs", text)
    elif argument is not None:
        _check_argument(node, ports[0], argument, feeding)


def _check_argument(node: NodeView, port: Port, argument: Argument, feeding: Feeding) -> None:
    element = port.element if port.items is None else None
    wanted = f"{element or 'values that are no tensor'} {'' if port.dims is None else shape_text(port.dims)}"
    if port.dims and port.dims[0] is not None and not (port.dims[0] == 1 and _is_called_alone(node)):
        alone = "; with 'batch: {max: 1}' it gets them one by one" if port.dims[0] == 1 else ""
        text = f"the model's '{port.name}' takes exactly {port.dims[0]} rows at a time{alone}"
        node.problem("signature_mismatch", argument.place, f"{text}; best export it for any number")
    elif element is None or not feeding.can_cast(argument.element, element):
        hint = _cast_hint(argument.element, port.element)
        text = f"the model's '{port.name}' takes {wanted}, the node gives {argument}{hint}"
        node.problem("signature_mismatch", argument.place, text)
    elif not _fits(argument, port):
        hint = _length_hint(node, argument, port)
        text = f"the model's '{port.name}' takes {wanted}, the node gives {argument}{hint}"
        node.problem("signature_mismatch", argument.place, text)


def _is_called_alone(node: NodeView) -> bool:
    """Returns whether each call gets one row."""
    limits = (batch_of(node.options).get("max"), config_of(node.options).get("max_batch_size"))
    return 1 in limits or is_per_row(node.options)


def _cast_hint(found: str, wanted: str | None) -> str:
    is_whole = found.lstrip("u").startswith("int")
    return "; declare the column as double" if is_whole and wanted in ("float", "double") else ""


def _length_hint(node: NodeView, argument: Argument, port: Port) -> str:
    """Returns how a list of numbers is declared whose length the model knows."""
    rest = tuple(dim for dim in (port.dims or ())[1:] if dim is not None)
    if None not in argument.shape or len(rest) != len((port.dims or ())[1:]):
        return ""
    if argument.place == "inputs" and len(node.spec.columns) > 1:
        return f"; declare the length of each list, such as {Array(Scalar(argument.element), (4,))}"
    is_alike = len(rest) == len(argument.shape)
    return f"; declare the column as {Array(Scalar(argument.element), rest)}" if is_alike else ""


def _fits(argument: Argument, port: Port) -> bool:
    """Returns whether an argument's shape is one that an input takes.

    The length of a list of numbers is declared where the model's is fixed; that of a list of texts, which cannot be, is
    looked at row by row.
    """
    if port.dims is None:
        return True
    wanted = port.dims[1:]
    if len(argument.shape) == len(wanted):
        is_text = argument.element not in NUMPY_DTYPES
        return all(
            want in (None, have) or (have is None and is_text)
            for have, want in zip(argument.shape, wanted, strict=True)
        )
    return argument.width == 1 and len(port.dims) > 0 and all(want in (None, 1) for want in wanted)


def _outputs(node: NodeView, signature: Signature | None) -> dict[str, Type | None]:
    """Returns the type that the model gives for each column, and reports the ports that it does not have."""
    if signature is None:
        return {}
    ports = {port.name: port for port in signature.outputs}
    columns = check_ports(node, list(ports))
    declared = {output.column: output.type for output in node.spec.outputs}
    for column, name in columns.items():
        if ports[name].element is None or ports[name].dims == ():
            text = f"the model's '{name}' must be a tensor or a sequence with an item per row"
            node.problem("signature_mismatch", f"outputs.{column}", text)
    return {column: port_type(ports[name], declared[column]) for column, name in columns.items()}


def port_type(port: Port, declared: Type | None) -> Type | None:
    """Returns the type of one row of an output; what the model leaves open is as declared."""
    if port.element is None or port.dims == () or port.items == TENSORS:
        return None
    if port.items is not None:
        return _map_type(port.items, port.element, declared)
    shape = _shape(port.dims, declared)
    if shape is None:
        return _open_list(port, declared)
    if port.element in ("string", "bytes"):
        is_one = shape in ((), (1,)) and not isinstance(declared, Array)
        return Scalar(port.element) if is_one else Array(Scalar(port.element))
    return Array(Scalar(port.element), shape) if shape else Scalar(port.element)


def _open_list(port: Port, declared: Type | None) -> Type | None:
    """Returns the type of a declared list of any length, whose items are the other dimensions, or None."""
    if not isinstance(declared, Array) or declared.shape is not None or port.dims is None:
        return None
    item = port_type(dataclasses.replace(port, dims=port.dims[1:]), declared.element)
    return None if item is None else Array(item)


def _map_type(key: str, value: str, declared: Type | None) -> Type | None:
    """Returns the type of a mapping; its values, in the order of the keys, may be declared as a tensor or a list."""
    if isinstance(declared, Array):
        return Array(Scalar(value), declared.shape)
    if isinstance(declared, Row) and key == "string":
        return None
    is_same = isinstance(declared, Map) and declared.key == Scalar(key)
    if is_same and isinstance(declared, Map) and holds(declared.value, Scalar(value)):
        return declared
    return Map(Scalar(key), Scalar(value))


def _shape(dims: Sequence[int | None] | None, declared: Type | None) -> tuple[int, ...] | None:
    """Returns the shape of one row; open lengths are those of the declared type where it has as many."""
    wanted = row_shape(declared) if declared is not None else None
    if dims is None:
        return wanted
    rest = tuple(dims[1:])
    if wanted == () and len(rest) == 1:
        wanted = (1,)
    if wanted is not None and len(wanted) == len(rest):
        return tuple(want if dim is None else dim for dim, want in zip(rest, wanted, strict=True))
    return None if None in rest else tuple(dim for dim in rest if dim is not None)
