"""Writes generated files, or says that they are not what would be written."""

from __future__ import annotations

import os
import tempfile

from beam_ensembles.code_generation.language import MARK, CannotGenerate, Source


def is_current(source: Source, folder: str) -> bool:
    """Whether a folder has a generated file as it would be written now; how its lines end makes no difference."""
    try:
        with open(_path(source, folder), encoding="utf-8") as file:
            return file.read() == source.text
    except (FileNotFoundError, NotADirectoryError, UnicodeDecodeError):
        return False


def write(source: Source, folder: str) -> None:
    """Writes a generated file into a folder, which is made where it is missing; all of it or nothing.

    Raises:
        CannotGenerate: There is a file of that name which was not generated.
        OSError: It cannot be written.
    """
    path = _path(source, folder)
    _check_generated(path)
    parent = os.path.dirname(path)
    os.makedirs(parent, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=parent, prefix=".generated-")
    try:
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(source.text)
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _check_generated(path: str) -> None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            if MARK in file.readline():
                return
    except FileNotFoundError:
        return
    raise CannotGenerate(
        f"'{path}' is there, and was not made by this command; move it away, or choose another folder"
    )


def _mode(path: str) -> int:
    """Returns the permissions of a file that is replaced, or those that a new file gets."""
    try:
        return os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _path(source: Source, folder: str) -> str:
    return os.path.join(folder, *source.path.split("/"))
