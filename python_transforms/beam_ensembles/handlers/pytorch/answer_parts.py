"""A PyTorch model's answer -> its ports: the names by which a node's outputs take parts of it.

| the model gives | ports |
|---|---|
| a tensor | ``output`` |
| a tuple | ``output_0``, ``output_1``, ... by position |
| a named tuple, a dict, a ``ModelOutput`` | the names of its fields |
| a list of tensors or values, one per row | ``output`` |
| a list of dicts, one per row (torchvision's detection) | the keys of the dicts, each a list of one value per row |
| one of these in a tuple or dict | both names with a dot: ``output_1.boxes``, ``encoder.0`` |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from beam_ensembles.errors import BatchFailed, listed, nearest
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.graph.output_ports import port_of
from beam_ensembles.handlers.support.results import to_columns


def columns_of(node: CheckedNode, answer: Any, rows: int) -> Columns:
    """Creates a node's output columns of its model's answer.

    Args:
        node: The node.
        answer: What the model gave.
        rows: How many rows it was given.

    Raises:
        NodeError: As ``to_columns``; ``bad_output`` of the whole batch where the model gives no such port.
    """
    ports = dict(ports_of_answer(answer))
    names = list(ports)
    answers = {}
    for output in node.spec.outputs:
        port = port_of(output, names)
        if port is None:
            wanted = output.port or output.column
            text = f"the model returns no '{wanted}' (it returns: {listed(names)}; name one with 'from')"
            raise BatchFailed("bad_output", text + nearest(wanted, names))
        answers[output.column] = to_numpy(ports[port])
    return to_columns(node, answers, rows)


def ports_of_answer(answer: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Takes an answer apart.

    Args:
        answer: What a model gave, or a part of it.
        path: The names of the part.

    Yields:
        Each port's name and what the model gave for it; parts that are None are left out.
    """
    if hasattr(answer, "_asdict"):
        answer = answer._asdict()
    if answer is None:
        return
    if isinstance(answer, Mapping):
        for name, part in answer.items():
            yield from ports_of_answer(part, (*path, str(name)))
    elif isinstance(answer, tuple):
        for at, part in enumerate(answer):
            yield from ports_of_answer(part, (*path, str(at) if path else f"output_{at}"))
    elif isinstance(answer, list) and answer and all(isinstance(row, Mapping) for row in answer):
        for name in dict.fromkeys(name for row in answer for name in row):
            yield ".".join((*path, str(name))), [row.get(name) for row in answer]
    else:
        yield ".".join(path) or "output", answer


def to_numpy(value: Any) -> Any:
    """Creates arrays of tensors on any device, alone or in lists; numpy has no bfloat16: it becomes float32."""
    if isinstance(value, list | tuple):
        return [to_numpy(item) for item in value]
    if not hasattr(value, "detach"):
        return value
    tensor = value.detach().cpu()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
