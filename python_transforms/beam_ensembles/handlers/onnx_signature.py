"""Compares a node with the graph that it runs: what the graph takes and what it gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.answers import check_ports, settle
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.handlers.arguments import Argument, can_cast, list_argument, named_arguments, shape_text
from beam_ensembles.handlers.onnx_graph import Port, Signature
from beam_ensembles.types import Array, Scalar, Type, row_shape


def check_signature(node: NodeView, signature: Signature | None) -> Mapping[str, Type | None]:
    """Checks a node's inputs and outputs and settles its types.

    Args:
        node: The node.
        signature: What the graph takes and gives; None where it is not known.

    Returns:
        The type of each output column; None where it is not known.
    """
    _check_inputs(node, signature)
    return settle(node, "signature_mismatch", _outputs(node, signature))


def _check_inputs(node: NodeView, signature: Signature | None) -> None:
    inputs = node.spec.inputs
    if inputs is None:
        return
    if inputs.ports is None:
        argument = list_argument(node)
        if signature is not None:
            _check_list(node, signature, argument)
        return
    arguments = named_arguments(node)
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
            _check_argument(node, given[name], arguments[name])
    extra = node.option("inference_args") or {}
    missing = [name for name in given if name not in inputs.ports and name not in extra]
    if missing:
        node.problem("signature_mismatch", "inputs", f"the model needs its inputs {listed(missing)} too")


def _check_list(node: NodeView, signature: Signature, argument: Argument | None) -> None:
    extra = node.option("inference_args") or {}
    ports = [port for port in signature.inputs if port.name not in extra]
    if len(ports) != 1:
        names = [port.name for port in ports]
        example = ", ".join(f"{name}: column" for name in names[:3])
        text = f"the model takes {len(names)} inputs ({listed(names)}): name them, {{{example}}}"
        node.problem("signature_mismatch", "inputs", text)
    elif argument is not None:
        _check_argument(node, ports[0], argument)


def _check_argument(node: NodeView, port: Port, argument: Argument) -> None:
    wanted = (
        f"{port.element or 'values that are no tensor'} {'' if port.dims is None else shape_text(port.dims)}"
    )
    if port.dims is not None and port.dims[:1] not in ((None,), ()):
        text = (
            f"the model's '{port.name}' takes exactly {port.dims[0]} rows at a time; export it for any number"
        )
        node.problem("signature_mismatch", argument.place, text)
    elif port.element is None or not can_cast(argument.element, port.element):
        hint = _cast_hint(argument.element, port.element)
        text = f"the model's '{port.name}' takes {wanted}, the node gives {argument}{hint}"
        node.problem("signature_mismatch", argument.place, text)
    elif not _fits(argument, port):
        text = f"the model's '{port.name}' takes {wanted}, the node gives {argument}"
        node.problem("signature_mismatch", argument.place, text)


def _cast_hint(found: str, wanted: str | None) -> str:
    is_whole = found.lstrip("u").startswith("int")
    return "; declare the column as double" if is_whole and wanted in ("float", "double") else ""


def _fits(argument: Argument, port: Port) -> bool:
    if port.dims is None:
        return True
    wanted = port.dims[1:]
    if len(argument.shape) == len(wanted):
        return all(want in (None, have) for have, want in zip(argument.shape, wanted, strict=True))
    return argument.width == 1 and len(port.dims) > 0 and all(want in (None, 1) for want in wanted)


def _outputs(node: NodeView, signature: Signature | None) -> dict[str, Type | None]:
    """Gives the type that the graph gives for each column, and reports the ports that it does not have."""
    if signature is None:
        return {}
    ports = {port.name: port for port in signature.outputs}
    columns = check_ports(node, list(ports))
    declared = {output.column: output.type for output in node.spec.outputs}
    for column, name in columns.items():
        if ports[name].element is None or ports[name].dims == ():
            text = (
                f"the model's '{name}' is no tensor with a row each (skl2onnx: options={{'zipmap': False}})"
            )
            node.problem("signature_mismatch", f"outputs.{column}", text)
    return {column: _type(ports[name], declared[column]) for column, name in columns.items()}


def _type(port: Port, declared: Type | None) -> Type | None:
    """Gives the type of one row of an output; what the graph leaves open is as declared."""
    if port.element is None or port.dims == ():
        return None
    shape = _shape(port.dims, declared)
    if shape is None:
        return Array(Scalar(port.element)) if isinstance(declared, Array) and declared.shape is None else None
    if port.element == "string":
        is_one = shape in ((), (1,)) and not isinstance(declared, Array)
        return Scalar("string") if is_one else Array(Scalar("string"))
    return Array(Scalar(port.element), shape) if shape else Scalar(port.element)


def _shape(dims: Sequence[int | None] | None, declared: Type | None) -> tuple[int, ...] | None:
    """Gives the shape of one row; open lengths are those of the declared type where it has as many."""
    wanted = row_shape(declared) if declared is not None else None
    if dims is None:
        return wanted
    rest = tuple(dims[1:])
    if wanted == () and len(rest) == 1:
        wanted = (1,)
    if wanted is not None and len(wanted) == len(rest):
        return tuple(want if dim is None else dim for dim, want in zip(rest, wanted, strict=True))
    return None if None in rest else tuple(dim for dim in rest if dim is not None)
