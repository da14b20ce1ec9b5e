"""One word for what an ensemble is made of: its file as it was read, and every file that its nodes name."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping

from beam_ensembles.files.file_changes import state_of
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.graph.model import EnsembleGraph

_LENGTH = 16


def digest_of(graph: EnsembleGraph, of_nodes: Mapping[str, str] | None = None) -> str:
    """Returns 16 hexadecimal digits that change with the file, its parameters, or a file that it names.

    A pinned file is known by its ``sha256``, another one by its size and the time of its last change, one of the web by
    what its server says of it.

    Args:
        graph: The ensemble.
        of_nodes: What ``node_digests`` returns of its nodes, where that is known.
    """
    found = node_digests(graph.nodes) if of_nodes is None else of_nodes
    digest = hashlib.sha256(graph.spec.text.encode())
    for node in graph.nodes:
        digest.update(found[node.spec.name].encode())
    profile = graph.profile
    if profile is not None:
        elsewhere = profile.place, profile.pin or state_of(profile.place)
        digest.update((profile.digest or repr(elsewhere)).encode())
    return digest.hexdigest()[:_LENGTH]


def node_digests(nodes: Iterable[CheckedNode]) -> dict[str, str]:
    """Returns for each node, by name, digits that change with what the file says of it, or with its files."""
    return {node.spec.name: _node_digest(node) for node in nodes}


def _node_digest(node: CheckedNode) -> str:
    said = dataclasses.asdict(node.spec)
    digest = hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode())
    if node.files.bundle is not None:
        digest.update(node.files.bundle.uri.encode())
        return digest.hexdigest()
    digest.update(str(node.uri).encode())
    if node.uri is not None and "sha256" not in node.spec.options:
        digest.update(repr(state_of(node.uri, node.kind.files_beside)).encode())
    return digest.hexdigest()
