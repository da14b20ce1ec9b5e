"""Copy a model that other users could change between its check and its load."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Iterator
from typing import Final

from beam_ensembles.files.fetched_files import Beside
from beam_ensembles.files.local_files import open_regular, path_of
from beam_ensembles.files.ownership import is_foreign
from beam_ensembles.files.temporary import temporary_folder

_BLOCK: Final = 1 << 20


@contextlib.contextmanager
def out_of_reach(path: str, beside: Beside, *, is_pinned: bool) -> Iterator[str]:
    """Returns the path of a model, or of a private copy if other users can change the model.

    Args:
        path: A local file or folder.
        beside: Which files belong to it; they are copied too.
        is_pinned: Whether the copy is compared with a digest. If not, nobody vouches for what a link leads to: a copy
            has only files that lie in the model's own folder, and a model with links is not copied.

    Raises:
        OSError: It cannot be copied.
    """
    names = tuple(beside(path)) if os.path.isfile(path) else ()
    files = _files(path, names)
    if not any(map(is_foreign, files)) or (not is_pinned and any(map(os.path.islink, files))):
        yield path
        return
    own = os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path))
    copied = functools.partial(_copy, within=None if is_pinned else own)
    with temporary_folder("beam-ensembles-copy-") as folder:
        copy = os.path.join(folder, os.path.basename(path.rstrip("/")))
        if os.path.isdir(path):
            shutil.copytree(path, copy, symlinks=not is_pinned, copy_function=copied)
        else:
            copied(path, copy)
        for name in names:
            target = os.path.join(folder, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            copied(os.path.join(os.path.dirname(path), name), target)
        yield copy


def _files(path: str, names: tuple[str, ...]) -> list[str]:
    """Returns every file and folder of a model."""
    beside = [os.path.join(os.path.dirname(path), name) for name in names]
    within = [
        os.path.join(folder, name) for folder, folders, files in os.walk(path) for name in (*folders, *files)
    ]
    return [path, *beside, *within]


def _copy(source: str, target: str, within: str | None = None) -> str:
    with open_regular(source) as file, open(target, "xb") as sink:
        if within is not None and not path_of(file).startswith(os.path.join(within, "")):
            raise OSError(f"'{source}' leads out of the model's folder")
        shutil.copyfileobj(file, sink, _BLOCK)
    return target
