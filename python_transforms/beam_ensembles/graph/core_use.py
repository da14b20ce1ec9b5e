"""How a stage may use more cores than one: all that follows from its nodes, whatever machine it runs on.

A batch meets what the machine has in ``execution/``: a node starts beside another only while a core is to spare, or if
it waits for another machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from beam_ensembles.graph.kinds import CheckedNode, Work
from beam_ensembles.graph.planning import Stage
from beam_ensembles.types import Type, dtype_of, width_of

LARGE_ROW_BYTES: Final = 1 << 10
"""More of them that a stage's nodes make of a row are large columns: 16 MiB of a batch from Go or Java."""


def nodes_beside(nodes: Sequence[CheckedNode]) -> tuple[tuple[int, ...], ...]:
    """Returns for each node which later ones may begin with it: they read nothing that it or one in between makes.

    That is for models that leave cores idle: scikit-learn uses one, XGBoost and onnxruntime few for a small batch.
    PyTorch and TensorFlow use all for a call, and a GPU would have to hold two. What another machine answers uses none,
    so it begins beside whatever comes before it.

    Args:
        nodes: In the order in which they run.

    Returns:
        For each node the positions of such nodes.
    """
    return tuple(tuple(_beside(nodes, at)) for at in range(len(nodes)))


def _beside(nodes: Sequence[CheckedNode], first: int) -> Iterator[int]:
    made = set(nodes[first].outputs)
    for at, node in enumerate(nodes[first + 1 :], first + 1):
        may_begin = node.kind.work is Work.ELSEWHERE or (_leaves_cores(nodes[first]) and _leaves_cores(node))
        if may_begin and made.isdisjoint((*node.inputs, *node.condition)):
            yield at
        made.update(node.outputs)


def _leaves_cores(node: CheckedNode) -> bool:
    return node.kind.work in (Work.ONE_CORE, Work.ELSEWHERE)


def batches_beside(stages: Sequence[Stage]) -> bool:
    """Returns whether record batches of a bundle may be scored beside each other: one stage, which leaves cores idle.

    Stages that make large columns, pixels above all, score one batch after another: each would need memory for its own.
    """
    if len(stages) > 1:
        return False
    (stage,) = stages
    return _leave_cores(stage.nodes) and not makes_large_columns(stage.nodes)


def worth_processes(nodes: Sequence[CheckedNode], arrow: bool) -> bool:
    """Returns whether a stage has work for several processes, where a worker is told to run it in some.

    Args:
        nodes: The stage's.
        arrow: Whether its batches come in Arrow. Rows that come one by one keep the worker itself busy; small models
            may as well run in it.
    """
    if makes_large_columns(nodes):
        return True
    compute_here = any(node.spec.kind == "model" and node.kind.work is not Work.ELSEWHERE for node in nodes)
    return compute_here and (arrow or not _leave_cores(nodes))


def uses_all_cores(nodes: Sequence[CheckedNode]) -> bool:
    """Returns whether a call of some node may use all cores, as PyTorch's and TensorFlow's threads do."""
    return any(node.kind.work is Work.ALL_CORES for node in nodes)


def _leave_cores(nodes: Sequence[CheckedNode]) -> bool:
    """Whether a stage of some nodes may leave cores idle while it scores a batch: others may be scored meanwhile."""
    return any(map(_leaves_cores, nodes)) and not uses_all_cores(nodes)


def makes_large_columns(nodes: Sequence[CheckedNode]) -> bool:
    """Whether nodes make large columns of a batch from Go or Java."""
    return made_bytes(nodes) > LARGE_ROW_BYTES


def made_bytes(nodes: Sequence[CheckedNode]) -> int:
    """Returns the bytes of a row in the tensors that nodes make, as far as their types tell."""
    return sum(_row_bytes(type_) for node in nodes for type_ in node.outputs.values())


def _row_bytes(type_: Type) -> int:
    dtype = dtype_of(type_)
    return 0 if dtype is None else dtype.itemsize * (width_of(type_) or 0)
