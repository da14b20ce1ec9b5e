"""One word for what an ensemble is made of: its file as it was read, and every file that its nodes name."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from typing import Any

from apache_beam.io.filesystems import FileSystems

from beam_ensembles.graph.files import local_path
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.handlers.web import is_web

_LENGTH = 16


def digest_of(graph: EnsembleGraph) -> str:
    """Gives 16 hexadecimal digits that change with the file, its parameters, or a file that it names.

    A pinned file is known by its ``sha256``, another one by its size and the time of its last change. What a URL
    outside of storage holds is not looked at: pin it.
    """
    digest = hashlib.sha256(graph.spec.text.encode())
    for node in graph.nodes:
        said = dataclasses.asdict(node.spec)
        digest.update(json.dumps(said, sort_keys=True, default=str).encode())
        digest.update(str(node.uri).encode())
        if node.uri is not None and "sha256" not in node.spec.options:
            digest.update(repr(state_of(node.uri)).encode())
    return digest.hexdigest()[:_LENGTH]


def state_of(place: str) -> Any:
    """Gives what changes when a file or a folder does: sizes and times, or None where it cannot be looked at."""
    path = local_path(place)
    if path is not None:
        return _local_state(path)
    if is_web(place) or not _is_stored(place):
        return None
    try:
        (found,) = FileSystems.match([place])
    except Exception:  # what a file system raises where it cannot be asked is its own
        return None
    return [(file.path, file.size_in_bytes, file.last_updated_in_seconds) for file in found.metadata_list]


def _is_stored(place: str) -> bool:
    try:
        FileSystems.get_filesystem(place)
    except ValueError:
        return False
    return True


def _local_state(path: str) -> Any:
    if os.path.isdir(path):
        names = sorted(os.path.join(folder, name) for folder, _, files in os.walk(path) for name in files)
        return [(name, _local_state(name)) for name in names]
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
