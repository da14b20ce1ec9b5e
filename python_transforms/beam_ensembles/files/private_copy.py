"""Copy a model that other users could change between its check and its load."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Final

from beam_ensembles.files.fetched_files import Beside
from beam_ensembles.files.local_files import Budget, inside_of, open_regular, path_of
from beam_ensembles.files.ownership import is_foreign
from beam_ensembles.files.temporary import temporary_folder

_BLOCK: Final = 1 << 20
_DEEPEST: Final = Budget().folders
_MayRead = Callable[[str], bool]


@contextlib.contextmanager
def out_of_reach(path: str, beside: Beside, *, is_pinned: bool, may_name: _MayRead) -> Iterator[str]:
    """Returns the path of a model, or of a private copy if other users can change the model.

    Args:
        path: A local file or folder.
        beside: Which files belong to it; they are copied too.
        is_pinned: Whether the copy is compared with a digest. If not, nobody vouches for what a link leads to: the copy
            of a folder has only files that lie in it, and links out of it stay links, for its check.
        may_name: Whether a real path may be read. Where the model is a file, it and those beside it may be links there.

    Raises:
        OSError: It cannot be copied.
    """
    names = tuple(beside(path)) if os.path.isfile(path) else ()
    if not any(map(is_foreign, _files(path, names))):
        yield path
        return
    inside = inside_of(os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path)))

    def may_read(real: str) -> bool:
        return is_pinned or real.startswith(inside) or may_name(real)

    with temporary_folder("beam-ensembles-copy-") as folder:
        copy = os.path.join(folder, os.path.basename(path.rstrip("/")))
        if os.path.isdir(path) and is_pinned:
            shutil.copytree(path, copy, copy_function=lambda source, target: _copy(source, target, may_read))
        elif os.path.isdir(path):
            _Folder(copy, inside).copy(path, copy)
        else:
            _copy(path, copy, may_read)
        for name in names:
            target = os.path.join(folder, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _copy(os.path.join(os.path.dirname(path), name), target, may_read)
        yield copy


def _files(path: str, names: tuple[str, ...]) -> list[str]:
    """Returns every file and folder of a model."""
    beside = [os.path.join(os.path.dirname(path), name) for name in names]
    within = [
        os.path.join(folder, name) for folder, folders, files in os.walk(path) for name in (*folders, *files)
    ]
    return [path, *beside, *within]


class _Folder:
    """Copies a folder that nobody vouches for.

    Args:
        copy: Where to.
        inside: How the real paths start of what it may link to, its own first.
    """

    def __init__(self, copy: str, inside: tuple[str, ...]) -> None:
        self._root, self._inside = copy, inside
        self._linked: dict[str, str] = {}
        """The copy of each file that a link leads to: many links to one file are one copy."""

    def copy(self, source: str, target: str) -> None:
        """Copies a folder in it."""
        if target.count(os.sep) - self._root.count(os.sep) > _DEEPEST:
            raise OSError(f"it has folders deeper than {_DEEPEST}")
        os.mkdir(target, 0o700)
        for name in os.listdir(source):
            found, own = os.path.join(source, name), os.path.join(target, name)
            if os.path.islink(found):
                self._copy_link(found, own)
            elif os.path.isdir(found):
                self.copy(found, own)
            else:
                _copy(found, own, self._is_inside)

    def _copy_link(self, source: str, target: str) -> None:
        real = os.path.realpath(source)
        if not self._is_inside(real):
            os.symlink(os.readlink(source), target)
        elif os.path.isdir(real):
            os.symlink(os.path.join(self._root, os.path.relpath(real, self._inside[0])), target)
        elif real in self._linked:
            os.link(self._linked[real], target)
        else:
            self._linked[real] = _copy(source, target, self._is_inside)

    def _is_inside(self, real: str) -> bool:
        return real.startswith(self._inside)


def _copy(source: str, target: str, may_read: _MayRead) -> str:
    with open_regular(source) as file, open(target, "xb") as sink:
        if not may_read(path_of(file)):
            raise OSError(f"'{source}' leads out of the model's folder")
        shutil.copyfileobj(file, sink, _BLOCK)
    return target
