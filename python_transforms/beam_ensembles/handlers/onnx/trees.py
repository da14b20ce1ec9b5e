"""Checks the trees of an ONNX graph for loops, which onnxruntime would follow without end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.onnx.operators import uses

_NAME: Final = "TreeEnsemble"
_LEAF: Final = b"LEAF"


def check_trees(path: str) -> None:
    """Checks that no tree of a model has a loop. Needs the package ``onnx``.

    Raises:
        ModelFormatError: One has, its lists have different lengths, or they are not in the node itself; or the file
            is not an ONNX model.
        OSError: It cannot be read.
    """
    if not uses(path, (_NAME,)):
        return
    import onnx

    model = onnx.load(path, load_external_data=False)
    parts = [model.graph, *model.functions]
    for node in (node for part in parts for node in _nodes(part)):
        if node.op_type.startswith(_NAME):
            attributes = {attribute.name: attribute for attribute in node.attribute}
            if len(attributes) < len(node.attribute) or any(one.ref_attr_name for one in node.attribute):
                raise ModelFormatError(
                    "a tree ensemble has lists twice, or takes them from a function's attributes"
                )
            _check_node(attributes)


def _nodes(part: Any) -> Iterator[Any]:
    """Yields the nodes of a graph or function, and those of the graphs within."""
    for node in part.node:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _nodes(graph)


def _check_node(attributes: dict[str, Any]) -> None:
    def numbers(name: str) -> np.ndarray:
        return np.array(attributes[name].ints if name in attributes else [], np.int64)

    true, false = numbers("nodes_truenodeids"), numbers("nodes_falsenodeids")
    if "tree_roots" in attributes:  # ai.onnx.ml 5: children are places in the lists, of nodes or of leaves
        keys = np.arange(len(true))
        leads = [numbers("nodes_trueleafs") == 0, numbers("nodes_falseleafs") == 0]
        children = [true, false]
    else:
        trees, ids = numbers("nodes_treeids"), numbers("nodes_nodeids")
        modes = attributes["nodes_modes"].strings if "nodes_modes" in attributes else []
        is_split = np.array([mode != _LEAF for mode in modes], np.bool_)
        leads = [is_split, is_split]
        if not len(trees) == len(ids) == len(true) == len(false):
            raise ModelFormatError("the lists of a tree ensemble have different lengths")
        keys, children = _places(trees, ids, true, false)
    if not all(len(one) == len(true) for one in (false, *leads)):
        raise ModelFormatError("the lists of a tree ensemble have different lengths")
    ends = [(np.flatnonzero(lead), child[lead]) for lead, child in zip(leads, children, strict=True)]
    sources, targets = (np.concatenate(part) for part in zip(*ends, strict=True))
    within = (targets >= 0) & (targets < len(keys))  # onnxruntime refuses the others
    if _has_loop(sources[within], targets[within], len(keys)):
        raise ModelFormatError("a tree of the model has a loop")


def _places(
    trees: np.ndarray, ids: np.ndarray, true: np.ndarray, false: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Returns the places of nodes, and where the children of each are; -1 for one that is not there."""
    places = {key: at for at, key in enumerate(zip(trees.tolist(), ids.tolist(), strict=True))}
    children = [
        np.array([places.get(key, -1) for key in zip(trees.tolist(), child.tolist(), strict=True)], np.int64)
        for child in (true, false)
    ]
    return np.arange(len(ids)), children


def _has_loop(sources: np.ndarray, targets: np.ndarray, nodes: int) -> bool:
    """Whether a graph has a loop: takes away, level by level, the nodes to which no edge leads."""
    order = np.argsort(sources, kind="stable")
    targets = targets[order]
    starts = np.searchsorted(sources[order], np.arange(nodes + 1))
    incoming = np.bincount(targets, minlength=nodes)
    level, left = np.flatnonzero(incoming == 0), nodes
    while len(level):
        left -= len(level)
        counts = starts[level + 1] - starts[level]
        firsts = np.repeat(starts[level] - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        reached, times = np.unique(targets[firsts + np.arange(counts.sum())], return_counts=True)
        incoming[reached] -= times
        level = reached[incoming[reached] == 0]
    return left > 0
