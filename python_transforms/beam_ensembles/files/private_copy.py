"""Copy a model that other users could change between the check of its digest and its load."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import Final

from beam_ensembles.files.fetched_files import Beside
from beam_ensembles.files.local_files import open_regular
from beam_ensembles.files.ownership import is_foreign
from beam_ensembles.files.temporary import temporary_folder

_BLOCK: Final = 1 << 20


@contextlib.contextmanager
def out_of_reach(path: str, beside: Beside) -> Iterator[str]:
    """Returns the path of a model, or of a private copy if other users can change the model.

    Args:
        path: A local file or folder.
        beside: Which files belong to it; they are copied too.
    """
    names = tuple(beside(path)) if os.path.isfile(path) else ()
    if not _is_reachable(path, names):
        yield path
        return
    with temporary_folder("beam-ensembles-copy-") as folder:
        copy = os.path.join(folder, os.path.basename(path.rstrip("/")))
        if os.path.isdir(path):
            shutil.copytree(path, copy, copy_function=_copy)
        else:
            _copy(path, copy)
        for name in names:
            target = os.path.join(folder, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _copy(os.path.join(os.path.dirname(path), name), target)
        yield copy


def _is_reachable(path: str, names: tuple[str, ...]) -> bool:
    beside = [os.path.join(os.path.dirname(path), name) for name in names]
    within = [
        os.path.join(folder, name) for folder, folders, files in os.walk(path) for name in (*folders, *files)
    ]
    return any(is_foreign(one) for one in (path, *beside, *within))


def _copy(source: str, target: str) -> str:
    with open_regular(source) as file, open(target, "xb") as sink:
        shutil.copyfileobj(file, sink, _BLOCK)
    return target
