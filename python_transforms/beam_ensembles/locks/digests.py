"""What an ensemble's nodes say and read, as digests: definitions in its file, models' files, other local data."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Iterator, Mapping

from beam_ensembles.bundles.collecting import CollectingFiles, sources_of
from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.ensemble_files import Files, local_path
from beam_ensembles.files.local_files import sha256_with
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.spec.document import read_document

_LENGTH = 16


def collecting(files: Files) -> CollectingFiles:
    """Returns files that remember what an ensemble asks for, to check it with."""
    return CollectingFiles(**{field.name: getattr(files, field.name) for field in dataclasses.fields(Files)})


def definitions(graph: EnsembleGraph) -> dict[str, str]:
    """Returns 16 hexadecimal digits for each node that change with what the file says of it, not with comments."""
    data = read_document(graph.spec.text).data
    nodes = data.get("nodes") if isinstance(data, dict) else None
    found = {}
    for node in graph.nodes:
        said = nodes.get(node.spec.name) if isinstance(nodes, dict) else None
        text = json.dumps(said, sort_keys=True, default=str)
        found[node.spec.name] = hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Digests:
    """SHA-256 of what nodes read, by the URIs of the ensemble file.

    Attributes:
        files: Of models and of functions' files.
        data: Of other files, such as the database of a lookup.
    """

    files: Mapping[str, str]
    data: Mapping[str, str]


def digests_of(graph: EnsembleGraph, files: CollectingFiles) -> Digests:
    """Reads the files of an ensemble; those in storage and on the web are fetched.

    Args:
        graph: The ensemble, checked with ``files``.
        files: What it asked for.

    Raises:
        EnsembleError: A file cannot be read or fetched.
    """
    try:
        found = dict(_packed(graph, files) if files.bundle is not None else _loose(graph, files))
    except OSError as error:
        raise EnsembleError(f"'{error.filename}' cannot be read: {error.strerror or error}") from error
    return _split(graph, found)


def local_digests(graph: EnsembleGraph, files: CollectingFiles) -> Digests:
    """Reads those files that are on this machine; nothing is fetched, and a file that cannot be read is left out."""
    found = {}
    for uri, (place, _) in files.asked.items():
        path = local_path(place)
        try:
            if path is not None:
                found[uri] = sha256_with(path, _beside(graph, uri, path))
        except (OSError, ValueError):
            continue
    return _split(graph, found)


def _split(graph: EnsembleGraph, found: Mapping[str, str]) -> Digests:
    models = {node.spec.file for node in graph.nodes}
    return Digests(
        {uri: digest for uri, digest in found.items() if uri in models},
        {uri: digest for uri, digest in found.items() if uri not in models},
    )


def _loose(graph: EnsembleGraph, files: CollectingFiles) -> Iterator[tuple[str, str]]:
    with sources_of(graph, files, leave_remote=False) as sources:
        for source in sources:
            yield source.uri, sha256_with(source.path, source.beside)


def _packed(graph: EnsembleGraph, files: Files) -> Iterator[tuple[str, str]]:
    if files.bundle is None:
        return
    for uri, name in files.bundle.places.items():
        path = os.path.join(files.bundle.root, name)
        yield uri, sha256_with(path, _beside(graph, uri, path))


def _beside(graph: EnsembleGraph, uri: str, path: str) -> tuple[str, ...]:
    if os.path.isdir(path):
        return ()
    nodes = [node for node in graph.nodes if node.spec.file == uri]
    return tuple(dict.fromkeys(name for node in nodes for name in node.kind.files_beside(path)))
