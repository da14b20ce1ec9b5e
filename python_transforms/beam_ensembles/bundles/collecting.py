"""Which files an ensemble uses: those that its nodes ask for when they are checked, whatever their kind is."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterable, Iterator, Sequence

from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.ensemble_files import Files, local_path
from beam_ensembles.files.fetched_files import Beside, fetched
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.messages.foreign_errors import text_of


@dataclasses.dataclass(frozen=True, slots=True)
class CollectingFiles(Files):
    """Files that remember what they were asked for.

    Attributes:
        asked: For each URI that a node asked for the absolute place, and whether that may be a folder.
        named: The classes and functions that nodes asked for.
    """

    asked: dict[str, tuple[str, bool]] = dataclasses.field(default_factory=dict)
    named: set[str] = dataclasses.field(default_factory=set)

    def check_code(self, name: str) -> None:
        """Remembers it, and does what ``Files`` does."""
        Files.check_code(self, name)
        self.named.add(name)

    def check(self, uri: str, *, folders: bool = False) -> str:
        """Remembers it, and does what ``Files`` does."""
        found = Files.check(self, uri, folders=folders)
        self.asked[uri] = (found, folders or self.asked.get(uri, ("", False))[1])
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class Source:
    """A file or folder to pack.

    Attributes:
        uri: What the ensemble file calls it.
        path: Where it is on this machine, for now.
        is_copy: Whether it was fetched, or lies in a cache, so that its place here means nothing.
        beside: Names of the files that belong to it, relative to its folder.
    """

    uri: str
    path: str
    is_copy: bool
    beside: tuple[str, ...] = ()


@contextlib.contextmanager
def sources_of(graph: EnsembleGraph, files: CollectingFiles, *, leave_remote: bool) -> Iterator[list[Source]]:
    """Returns what an ensemble uses; what lies elsewhere is fetched to this machine for as long as it is packed.

    Args:
        graph: The ensemble, checked with ``files``.
        files: What they were asked for.
        leave_remote: Whether files in storage and on the web stay there, for workers to read.

    Raises:
        EnsembleError: Something cannot be fetched, or is not in the cache of a hub.
    """
    with contextlib.ExitStack() as ends:
        found: list[Source] = []
        for uri, (place, folders) in sorted(files.asked.items()):
            path, beside = local_path(place), _beside_of(uri, graph)
            if path is not None:
                names = () if os.path.isdir(path) else tuple(beside(path))
                found.append(Source(uri, path, is_copy=False, beside=names))
            elif not leave_remote:
                copy = ends.enter_context(_fetched(place, folders, beside))
                found.append(Source(uri, copy, is_copy=True, beside=tuple(beside(copy))))
        found += _of_hubs(graph)
        yield sorted(found, key=lambda source: source.uri)


@contextlib.contextmanager
def _fetched(place: str, folders: bool, beside: Beside) -> Iterator[str]:
    with contextlib.ExitStack() as ends:
        try:
            copy = ends.enter_context(fetched(place, folders=folders, beside=beside))
        except Exception as exc:  # what a file system raises where it cannot be read is its own
            text = str(exc) if isinstance(exc, EnsembleError) else text_of(exc)
            raise EnsembleError(f"'{place}' cannot be fetched: {text}") from exc
        yield copy


def _beside_of(uri: str, graph: EnsembleGraph) -> Beside:
    nodes = [node for node in graph.nodes if node.spec.file == uri]

    def beside(path: str) -> Sequence[str]:
        return list(dict.fromkeys(name for node in nodes for name in node.kind.files_beside(path)))

    return beside


def _of_hubs(graph: EnsembleGraph) -> Iterator[Source]:
    """Yield the models that are named on a hub, from this machine's caches."""
    found: dict[str, list[CheckedNode]] = {}
    for node in graph.nodes:
        if node.spec.file is not None and node.kind.is_on_hub(node.spec.file):
            found.setdefault(node.spec.file, []).append(node)
    for uri, nodes in found.items():
        yield Source(uri, nodes[0].kind.cached(uri, _revision(uri, nodes)), is_copy=True)


def _revision(uri: str, nodes: Iterable[CheckedNode]) -> str | None:
    wanted = {node.spec.options.get("revision") for node in nodes}
    if len(wanted) > 1:
        names = ", ".join(sorted(map(str, wanted)))
        raise EnsembleError(f"'{uri}' is named in several revisions ({names}); a bundle can hold one of them")
    return wanted.pop()
