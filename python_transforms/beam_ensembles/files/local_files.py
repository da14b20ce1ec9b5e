"""Files of this machine: patterns, digests and open files, each with a limit, whatever a stranger names."""

from __future__ import annotations

import dataclasses
import fnmatch
import hashlib
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Final

from beam_ensembles.interruption import checkpoint

_PATTERN: Final = re.compile(r"[*?\[]")
_BLOCK: Final = 1 << 20
_NO_FILES: Final = ("/proc", "/sys", "/dev")
"""Folders whose files the kernel makes up: some never end, some block, some act when they are opened."""
_OPEN_FILES: Final = "/proc/self/fd"
"""Where Linux says which file each descriptor is of."""
_SNAPSHOTS: Final = "snapshots"
_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - nothing is written there


class TooMuch(Exception):
    """A look at files would take more than it may; the message says what, in one line."""


@dataclasses.dataclass(slots=True)
class Budget:
    """What one look at files may still take.

    Attributes:
        entries: Names in folders.
        seconds: Time, from the start.
        folders: Depth of folders.
    """

    entries: int = 100_000
    seconds: float = 5.0
    folders: int = 16
    _ends: float = 0.0

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.seconds

    def spend(self, entries: int = 0) -> None:
        """Counts names that were looked at, and the time.

        Raises:
            TooMuch: Nothing is left.
        """
        checkpoint()
        self.entries -= entries
        if self.entries < 0:
            raise TooMuch("there are too many files to search")
        if time.monotonic() > self._ends:
            raise TooMuch(f"searching the files takes longer than {self.seconds:g} seconds")


@dataclasses.dataclass(frozen=True, slots=True)
class Contents:
    """The files in a folder, at any depth, by their names below it.

    Attributes:
        files: Its own files, and links that stay in it.
        strays: Links that lead out of it, and what is neither a file nor a folder, for people.
    """

    files: tuple[str, ...]
    strays: tuple[str, ...]


def contents(folder: str, budget: Budget | None = None) -> Contents:
    """Looks through a folder without reading a file.

    Raises:
        TooMuch: It has more files or folders in each other than ``budget`` allows.
    """
    budget = budget or Budget()
    root = os.path.realpath(folder)
    files: list[str] = []
    strays: list[str] = []
    inside = inside_of(root)
    for place, folders, names in os.walk(root):
        budget.spend(len(folders) + len(names) + 1)
        if place.count(os.sep) - root.count(os.sep) >= budget.folders:
            raise TooMuch(f"it has folders deeper than {budget.folders}")
        for path in (os.path.join(place, name) for name in (*folders, *names)):
            name = os.path.relpath(path, root)
            if os.path.islink(path) and not os.path.realpath(path).startswith(inside):
                strays.append(f"the link '{name}', which leads out of the folder")
            elif os.path.isfile(path):
                files.append(name)
            elif not os.path.isdir(path):
                strays.append(f"'{name}', which is not a file")
    return Contents(tuple(files), tuple(strays))


def inside_of(root: str) -> tuple[str, ...]:
    """Returns how the real paths start of what a folder may link to.

    The cache of the Hugging Face hub links the files of a ``snapshots/COMMIT`` to ``blobs`` two folders above; such
    links stay inside.

    Args:
        root: The folder's own real path.
    """
    own = os.path.join(root, "")
    if os.path.basename(os.path.dirname(root)) != _SNAPSHOTS:
        return (own,)
    return own, os.path.join(os.path.dirname(os.path.dirname(root)), "blobs", "")


def is_pattern(place: str) -> bool:
    """Whether a place is a pattern of names, such as ``models/line-*.pt``, which stands for the newest match."""
    return _PATTERN.search(place) is not None


def fixed_folder(pattern: str) -> str:
    """Returns the folder that a pattern names before its first wildcard."""
    fixed = pattern[: match.start()] if (match := _PATTERN.search(pattern)) else pattern
    return os.path.dirname(fixed) or os.curdir


def newest_match(
    pattern: str, budget: Budget | None = None, may_follow: Callable[[str], bool] = lambda _: True
) -> str | None:
    """Returns the match of a pattern that was changed last, or None; of files of one time the last name counts.

    ``*`` stands for no ``/``, and for no name that starts with a dot; ``**`` is the same as ``*``.

    Args:
        pattern: An absolute path with wildcards.
        budget: What the look may take.
        may_follow: Whether a symbolic link may be followed; others are left out, as if they were not there.

    Raises:
        TooMuch: The pattern makes more work than ``budget`` allows.
    """
    budget = budget or Budget()
    folder = fixed_folder(pattern)
    steps = [step for step in pattern[len(folder) :].split("/") if step]
    if os.pardir in steps:
        return None
    if len(steps) > budget.folders:
        raise TooMuch(f"the pattern is deeper than {budget.folders} folders")
    newest: tuple[int, str] | None = None
    for found in _matches(folder, steps, budget, may_follow):
        try:
            one = os.stat(found).st_mtime_ns, found
        except OSError:  # a link to nothing, or a file that was removed just now
            continue
        newest = one if newest is None else max(newest, one)
    return None if newest is None else newest[1]


def _matches(
    folder: str, steps: list[str], budget: Budget, may_follow: Callable[[str], bool]
) -> Iterator[str]:
    """Walks without recursion: a stack of folders, each with the steps that are left below it."""
    waiting = [(folder, 0)]
    while waiting:
        place, at = waiting.pop()
        for name in _names(place, steps[at], budget):
            found = os.path.join(place, name)
            if os.path.islink(found) and not may_follow(found):
                continue
            if at == len(steps) - 1:
                yield found
            elif os.path.isdir(found):
                waiting.append((found, at + 1))


def _names(folder: str, step: str, budget: Budget) -> Iterator[str]:
    budget.spend(1)
    if not is_pattern(step):
        if os.path.lexists(os.path.join(folder, step)):
            yield step
        return
    matches = re.compile(fnmatch.translate(step)).match
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                budget.spend(1)
                if matches(entry.name) and (step.startswith(".") or not entry.name.startswith(".")):
                    yield entry.name
    except OSError:  # a folder that this user may not list
        return


def is_regular(path: str) -> bool:
    """Whether a path leads to a regular file of a disk: no device, no pipe, nothing that the kernel makes up."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode) and not is_made_up(path)
    except (OSError, ValueError):
        return False


def is_made_up(path: str) -> bool:
    """Whether a path leads into ``/proc``, ``/sys`` or ``/dev``, except for shared memory."""
    real = os.path.realpath(path)
    return any(is_in(real, folder) for folder in _NO_FILES) and not is_in(real, _SHARED_MEMORY)


def is_in(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or lies below it; nothing is looked up."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def open_regular(path: str) -> IO[bytes]:
    """Opens a regular file; never waits for a pipe and never acts on a device.

    Raises:
        OSError: It cannot be opened, or is something else.
    """
    if not is_regular(path):
        os.stat(path)
        raise OSError(f"'{path}' is not a regular file")
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    file = open(descriptor, "rb")  # noqa: SIM115 - whoever asked closes it
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # it was replaced just now
        file.close()
        raise OSError(f"'{path}' is not a regular file")
    return file


def path_of(file: IO[bytes]) -> str:
    """Returns the real path of an open file, which may have been put into the place of another one.

    Only Linux says so; elsewhere, this is where its name leads now.
    """
    known = f"{_OPEN_FILES}/{file.fileno()}"
    return os.path.realpath(known if os.path.isdir(_OPEN_FILES) else str(file.name))


def sha256_of(path: str, budget: Budget | None = None) -> str:
    """Computes the SHA-256 of a local file or folder as 64 hexadecimal digits.

    A folder's is that of the list of its files, in the order of their names' bytes, each a line of its digest, two
    spaces and its path within: what ``find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum |
    sha256sum`` prints in that folder.

    Args:
        path: The file or folder.
        budget: What that may take; without it, as long as it takes.

    Raises:
        OSError: It cannot be read, or holds something else than regular files.
        TooMuch: It takes more than ``budget`` allows.
    """
    if not os.path.isdir(path):
        return _sha256_of_file(path, budget)
    found, inside = [], os.path.join(os.path.realpath(path), "")
    for folder, folders, names in os.walk(path):
        if budget is not None:
            budget.spend(len(names) + 1)
        for link in (os.path.join(folder, name) for name in folders):
            if os.path.islink(link) and not os.path.realpath(link).startswith(inside):
                text = (
                    f"'{os.path.relpath(link, path)}' is a link to a folder outside, which no digest covers"
                )
                raise OSError(text)
        found += [os.path.relpath(os.path.join(folder, name), path) for name in names]
    return sha256_of_files(path, found, budget)


def sha256_with(path: str, beside: Iterable[str], budget: Budget | None = None) -> str:
    """Computes the SHA-256 of a local file or folder, or of a file and those beside it that belong to it.

    Args:
        path: The file or folder.
        beside: Names of the files beside it, relative to its folder.
        budget: What that may take; without it, as long as it takes.

    Raises:
        OSError: It cannot be read, or holds something else than regular files.
        TooMuch: It takes more than ``budget`` allows.
    """
    names = tuple(beside)
    if not names:
        return sha256_of(path, budget)
    return sha256_of_files(os.path.dirname(path), [os.path.basename(path), *names], budget)


def sha256_of_files(folder: str, names: Iterable[str], budget: Budget | None = None) -> str:
    """Computes the SHA-256 of some files of a local folder, as that of a folder which holds nothing else."""
    listing = hashlib.sha256()
    for name in sorted(set(names), key=os.fsencode):
        digest = _sha256_of_file(os.path.join(folder, name), budget)
        listing.update(f"{digest}  ".encode() + os.fsencode(name) + b"\n")
    return listing.hexdigest()


def _sha256_of_file(path: str, budget: Budget | None) -> str:
    digest = hashlib.sha256()
    with open_regular(path) as file:
        while block := file.read(_BLOCK):
            checkpoint()
            digest.update(block)
            if budget is not None:
                budget.spend()
    return digest.hexdigest()
