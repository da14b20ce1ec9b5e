"""Whether a lock still is that of its ensemble, as far as files say without loading a model."""

from __future__ import annotations

import os
from typing import Final

from beam_ensembles.bundles.collecting import CollectingFiles
from beam_ensembles.errors import EnsembleError, listed
from beam_ensembles.files.lock_names import golden_of, lock_of
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.locks.digests import definitions, local_digests
from beam_ensembles.locks.lock_text import Lock, parse_lock
from beam_ensembles.spec.load import read_text

_AGAIN: Final = "lock again, or see what differs with 'beam-ensembles check'"


def stale_lock(file: str, graph: EnsembleGraph, files: CollectingFiles) -> str | None:
    """Returns in a sentence why the lock beside an ensemble file is not its lock any more; None where it is, or where
    there is none.

    Args:
        file: The ensemble file.
        graph: The ensemble, checked with ``files``.
        files: What it asked for.
    """
    path = lock_of(file)
    if not os.path.isfile(path):
        return None
    try:
        lock = parse_lock(read_text(path), path)
    except EnsembleError as error:
        return str(error)
    found = _differences(lock, graph, files)
    if found:
        return f"the lock '{path}' is stale: {listed(found, limit=4)}; {_AGAIN}"
    if not os.path.isfile(golden_of(path)):
        return f"the lock '{path}' lacks its golden rows '{golden_of(path)}'; {_AGAIN}"
    return None


def _differences(lock: Lock, graph: EnsembleGraph, files: CollectingFiles) -> list[str]:
    if lock.ensemble != graph.spec.name:
        return [f"it is that of ensemble '{lock.ensemble}'"]
    said, found = definitions(graph), []
    for name, digest in said.items():
        if name not in lock.nodes:
            found.append(f"node '{name}' is new")
        elif lock.nodes[name].definition != digest:
            found.append(f"node '{name}' is another one")
    found += [f"node '{name}' is gone" for name in lock.nodes if name not in said]
    outputs = {name: str(type_) for name, type_ in graph.outputs}
    if outputs != {name: column.type for name, column in lock.outputs.items()}:
        found.append("it adds other columns")
    for uri, digest in sorted(local_digests(graph, files).files.items()):
        if lock.files.get(uri) != digest:
            found.append(f"the file '{uri}' is another one")
    return found
