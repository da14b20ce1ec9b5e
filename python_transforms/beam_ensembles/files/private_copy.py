"""Copy a model that other users could change between its check and its load."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Final

from beam_ensembles.files.fetched_files import MOST_BYTES, MOST_SECONDS, Beside
from beam_ensembles.files.local_files import Budget, TooMuch, inside_of, open_regular, path_of
from beam_ensembles.files.ownership import is_foreign
from beam_ensembles.files.temporary import temporary_folder

_BLOCK: Final = 1 << 20
_MayRead = Callable[[str], bool]


class LeadsOut(OSError):
    """A link of a folder leads to what is not in it."""


@contextlib.contextmanager
def out_of_reach(path: str, beside: Beside, *, is_pinned: bool, may_name: _MayRead) -> Iterator[str]:
    """Returns the path of a model, or of a private copy if other users can change the model.

    A copy has only files and folders of its own, and links between them.

    Args:
        path: A local file or folder.
        beside: Which files belong to it; they are copied too. It is asked of the copy, where there is one.
        is_pinned: Whether the copy is compared with a digest. If not, nobody vouches for what a link leads to: no link
            of a folder may lead out of it.
        may_name: Whether a real path may be read. Where the model is a file, it and those beside it may be links there.

    Raises:
        LeadsOut: A link does.
        OSError: It cannot be copied.
    """
    is_folder = os.path.isdir(path)
    with contextlib.ExitStack() as ends:
        try:
            copying = (
                ends.enter_context(_copied(path, is_pinned, may_name)) if _others_can_change(path) else None
            )
            names = () if is_folder else tuple(beside(path if copying is None else copying.root))
            others = [os.path.join(os.path.dirname(path), name) for name in names]
            if copying is None and any(map(is_foreign, others)):
                copying = ends.enter_context(_copied(path, is_pinned, may_name))
            if copying is not None:
                for name, other in zip(names, others, strict=True):
                    target = os.path.join(os.path.dirname(copying.root), name)
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    copying.file(other, target)
        except TooMuch as error:
            raise OSError(str(error)) from error
        yield path if copying is None else copying.root


def _others_can_change(path: str) -> bool:
    if is_foreign(path):
        return True
    budget = Budget(seconds=MOST_SECONDS)
    for folder, folders, files in os.walk(path):
        budget.spend(len(folders) + len(files) + 1)
        if any(is_foreign(os.path.join(folder, name)) for name in (*folders, *files)):
            return True
    return False


@contextlib.contextmanager
def _copied(path: str, is_pinned: bool, may_name: _MayRead) -> Iterator[_Copying]:
    """Copies a model's file or folder, and returns what copies the files beside it."""
    is_folder = os.path.isdir(path)
    inside = inside_of(os.path.realpath(path if is_folder else os.path.dirname(path)))
    with temporary_folder("beam-ensembles-copy-") as folder:
        copying = _Copying(
            os.path.join(folder, os.path.basename(path.rstrip("/"))), inside, is_pinned, may_name
        )
        if is_folder:
            copying.folder(path, copying.root)
        else:
            copying.file(path, copying.root)
        yield copying


class _Copying:
    """Copies a model, within limits that all its files share.

    Args:
        root: Where its file or folder goes.
        inside: How the real paths start of what it may link to, its own folder first.
        is_pinned: Whether a digest vouches for what links to files lead to.
        may_name: Whether a real path outside may be read, where the model is a file.
    """

    def __init__(self, root: str, inside: tuple[str, ...], is_pinned: bool, may_name: _MayRead) -> None:
        self.root = root
        self._inside, self._is_pinned, self._may_name = inside, is_pinned, may_name
        self._budget, self._bytes = Budget(seconds=MOST_SECONDS), MOST_BYTES
        self._linked: dict[str, str] = {}
        """The copy of each file that a link leads to: many links to one file are one copy."""

    def folder(self, source: str, target: str) -> None:
        """Copies a folder, whose links may lead to files in it, and to what a digest vouches for."""
        if target.count(os.sep) - self.root.count(os.sep) > self._budget.folders:
            raise TooMuch(f"it has folders deeper than {self._budget.folders}")
        os.mkdir(target, 0o700)
        names = os.listdir(source)
        self._budget.spend(len(names) + 1)
        for name in names:
            found, own = os.path.join(source, name), os.path.join(target, name)
            if os.path.islink(found):
                self._link(found, own)
            elif os.path.isdir(found):
                self.folder(found, own)
            else:
                self._file(found, own, self._in_folder)

    def file(self, source: str, target: str) -> None:
        """Copies a file that is no part of a folder's copy; it may be a link to what may be named."""
        self._file(source, target, lambda real: self._in_folder(real) or self._may_name(real))

    def _link(self, source: str, target: str) -> None:
        real = os.path.realpath(source)
        if os.path.isdir(real):
            if not real.startswith(self._inside[0]):
                raise self._leads_out(target)
            os.symlink(os.path.join(self.root, os.path.relpath(real, self._inside[0])), target)
        elif not self._in_folder(real):
            raise self._leads_out(target)
        elif real in self._linked:
            os.link(self._linked[real], target)
        else:
            self._file(source, target, self._in_folder)
            self._linked[real] = target

    def _in_folder(self, real: str) -> bool:
        return self._is_pinned or real.startswith(self._inside)

    def _leads_out(self, target: str) -> LeadsOut:
        return LeadsOut(f"the link '{os.path.relpath(target, self.root)}', which leads out of the folder")

    def _file(self, source: str, target: str, may_read: _MayRead) -> None:
        with open_regular(source) as file, open(target, "xb") as sink:
            if not may_read(path_of(file)):
                raise LeadsOut(f"'{source}', which leads out of the model's folder")
            found = os.fstat(file.fileno())
            length = found.st_size  # one that grows meanwhile would never end
            self._bytes -= length
            if self._bytes < 0:
                raise TooMuch(f"it has more than {MOST_BYTES >> 30} GiB")
            free = shutil.disk_usage(os.path.dirname(target)).free
            if min(length, found.st_blocks * 512) > free:
                raise OSError(f"there is no room for a copy of '{source}' in '{os.path.dirname(self.root)}'")
            while length > 0 and (block := file.read(min(_BLOCK, length))):
                self._budget.spend()
                length -= len(block)
                if block.count(0) == len(block):  # as empty as in the file
                    sink.seek(len(block), os.SEEK_CUR)
                else:
                    sink.write(block)
            sink.truncate(sink.tell())
