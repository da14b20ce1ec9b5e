"""Where everything stands in a bundle: names of members, and where their bytes are before they are packed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from beam_ensembles.bundles.collecting import Source
from beam_ensembles.bundles.manifest import FILES, OTHERS, BadBundle, check_names
from beam_ensembles.errors import EnsembleError

_SQLITE: Final = b"SQLite format 3\0"
_WAL: Final = 2


class Members:
    """The files of a bundle that is being made: each name and the local path of its bytes."""

    def __init__(self) -> None:
        self._paths: dict[str, str] = {}

    def add(self, name: str, path: str) -> None:
        """Adds a file.

        Raises:
            EnsembleError: Another one has that name, or it is not a file that can be packed.
        """
        before = self._paths.setdefault(name, path)
        if not os.path.samefile(before, path):
            raise EnsembleError(f"'{path}' and '{before}' would both be '{name}' in the bundle; rename one")
        _check_file(path)

    def add_all(self, name: str, path: str) -> None:
        """Adds a file, or all files of a folder under the folder's name."""
        if not os.path.isdir(path):
            self.add(name, path)
            return
        for inside in files_below(path):
            self.add(f"{name}/{inside}", os.path.join(path, inside))

    def paths(self) -> dict[str, str]:
        """Returns the path of every name, in the order of the names.

        Raises:
            EnsembleError: A name cannot be that of a bundle's file.
        """
        try:
            check_names(self._paths)
        except BadBundle as exc:
            raise EnsembleError(f"a bundle cannot hold this: {exc}; rename the file") from exc
        return dict(sorted(self._paths.items()))


def add_sources(members: Members, sources: Iterable[Source], base: str) -> dict[str, str]:
    """Adds what an ensemble file names; gives the name in the bundle for each URI.

    Args:
        members: Takes the files.
        sources: What the file names.
        base: The ensemble file's folder; what lies in it keeps its place.
    """
    places: dict[str, str] = {}
    others = 0
    for source in sources:
        inside = os.path.relpath(source.path, base)
        if source.is_copy or inside.split(os.sep)[0] == os.pardir:
            others += 1
            name = f"{OTHERS}/{others}/{os.path.basename(source.path)}"
        else:
            name = os.path.normpath(os.path.join(FILES, inside))
        members.add_all(name, source.path)
        for beside in source.beside:
            path = os.path.join(os.path.dirname(source.path), beside)
            members.add(os.path.normpath(os.path.join(os.path.dirname(name), beside)), path)
        places[source.uri] = name
    return places


def files_below(folder: str) -> Iterator[str]:
    """Yields the files of a folder and of those in it, by their names within.

    Raises:
        EnsembleError: It holds a link to a folder, which could lead anywhere, or cannot be read.
    """
    for at, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        for name in folders:
            path = os.path.join(at, name)
            if os.path.islink(path):
                raise EnsembleError(f"'{path}' is a link to a folder; put the folder itself there")
        yield from (os.path.relpath(os.path.join(at, name), folder) for name in sorted(names))


def _raise(error: OSError) -> None:
    raise EnsembleError(f"'{error.filename}' cannot be read: {error.strerror}")


def _check_file(path: str) -> None:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise EnsembleError(f"'{path}' is not a regular file")
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError as exc:
        raise EnsembleError(f"'{path}' cannot be read: {exc.strerror}") from exc
    if head.startswith(_SQLITE) and (_WAL in head[18:20] or os.path.exists(f"{path}-journal")):
        text = f"'{path}' is an SQLite file that has changes beside it (-wal or -journal)"
        raise EnsembleError(f"{text}; close it, or run PRAGMA journal_mode=DELETE on it first")
