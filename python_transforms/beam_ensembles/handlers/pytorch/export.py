"""Reads what an exported program (``torch.export``, ``.pt2``) takes and gives, without PyTorch and its weights.

The archive holds the program's graph as JSON. Written for the schema of PyTorch 2.6 to 2.15.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.files.archives import DAMAGE, open_archive
from beam_ensembles.files.bounded_json import load_json, read_json
from beam_ensembles.handlers.support.signatures import (
    Port,
    Signature,
    refusing,
)

_GRAPHS: Final = ("models/model.json", "serialized_exported_program.json")
_LARGEST_GRAPH: Final = 256 << 20
"""Bytes of a graph, which says of each operation where it was in the source."""
_ELEMENTS: Final = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float", 8: "double", 12: "boolean",
    13: "float",
}  # fmt: skip
"""ScalarType of the schema -> the type's name in an ensemble file; bfloat16 (13) is given and taken as float."""


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """What an exported program says about itself.

    Attributes:
        signature: Its inputs, by the names of ``forward``'s arguments, and its outputs, by ``ports_of_answer``'s names.
        names: All its arguments in order; those that are no input of the signature are constants.
        positional: How many of them are given by position; the others are given by name.
    """

    signature: Signature
    names: tuple[str, ...]
    positional: int


def read_program(path: str) -> Program:
    """Reads an exported program's signature.

    Raises:
        ModelFormatError: It is not an exported program, or its arguments are more than tensors, one by one.
        OSError: It cannot be read.
    """
    with refusing("its graph is none that is known here"):
        graph = _graph(path)["graph_module"]
        call = next(one["signature"] for one in graph["module_call_graph"] if one["fqn"] == "")
        return _program(graph, call)


def _graph(path: str) -> Any:
    try:
        with open_archive(path) as archive:
            for info in archive.infolist():
                if info.filename.endswith(_GRAPHS):
                    with archive.open(info) as file:
                        return load_json(file, most_bytes=_LARGEST_GRAPH)
    except DAMAGE as exc:
        raise ModelFormatError(f"the file is a damaged archive: {exc}") from exc
    raise ModelFormatError("the archive holds no graph; save the program with torch.export.save")


def _program(graph: Mapping[str, Any], call: Mapping[str, Any]) -> Program:
    values = graph["graph"]["tensor_values"]
    taken = [arg for spec in graph["signature"]["input_specs"] for arg in _taken(spec)]
    names, positional = _arguments(call)
    if len(names) != len(taken):
        raise ModelFormatError("its arguments hold more than tensors, one by one; export it with those")
    inputs = [_port(name, arg, values) for name, arg in zip(names, taken, strict=True)]
    given = [
        spec["user_output"]["arg"] for spec in graph["signature"]["output_specs"] if "user_output" in spec
    ]
    outputs = zip(_leaves(_tree(call["out_spec"]), ()), given, strict=True)
    return Program(
        Signature(
            tuple(port for port in inputs if port is not None),
            tuple(port for name, arg in outputs if (port := _port(name, arg, values)) is not None),
        ),
        tuple(names),
        positional,
    )


def _taken(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields the argument that an input of the graph stands for; its weights stand for none."""
    if "user_input" in spec:
        yield spec["user_input"]["arg"]
    elif "constant_input" in spec:
        yield spec["constant_input"]["value"]


def _arguments(call: Mapping[str, Any]) -> tuple[list[str], int]:
    """Returns the names of a program's arguments in order, and how many are given by position."""
    by_position, by_name = _tree(call["in_spec"])["children_spec"]
    count = len(by_position["children_spec"])
    keys = read_json((by_name["context"] or "[]").encode())
    known = call.get("forward_arg_names") or []
    names = [known[at] if at < len(known) else f"input_{at}" for at in range(count)]
    return [*names, *keys], count


def _tree(text: str) -> Any:
    """Reads PyTorch's JSON of a structure: its version and the structure."""
    return read_json(text.encode())[1]


def _leaves(tree: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Names the tensors of an answer as ``ports_of_answer`` does."""
    kind, children = tree["type"], tree["children_spec"]
    if kind is None:
        yield ".".join(path) or "output"
        return
    if kind in ("builtins.tuple", "builtins.list"):
        names = [str(at) if path else f"output_{at}" for at in range(len(children))]
    elif kind in ("builtins.dict", "collections.OrderedDict"):
        names = [str(key) for key in read_json(tree["context"].encode())]
    else:
        raise ModelFormatError(f"it gives a {kind}; export it with an answer of tensors, tuples and dicts")
    for name, child in zip(names, children, strict=True):
        yield from _leaves(child, (*path, name))


def _port(name: str, arg: Mapping[str, Any], values: Mapping[str, Any]) -> Port | None:
    """Returns the port of a tensor, or None for an argument that is a constant."""
    if "as_tensor" not in arg:
        return None
    value = values[arg["as_tensor"]["name"]]
    return Port(name, _ELEMENTS.get(value["dtype"]), tuple(size.get("as_int") for size in value["sizes"]))
