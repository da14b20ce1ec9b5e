"""Check that Keras's weights are in their own file: an HDF5 dataset can be anywhere on the machine."""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from collections.abc import Iterator
from typing import Any, Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.files.archives import open_archive
from beam_ensembles.handlers.support.signatures import (
    refusing,
)

_ARCHIVE: Final = ".keras"
_IN_ARCHIVE: Final = "model.weights.h5"
_OF_TRAINING: Final = ("metrics", "optimizer")


@refusing("its weights are not a readable HDF5 file")
def check_weights(path: str) -> None:
    """Check that the weights of a file or a Keras archive refer to no other file.

    Args:
        path: A ``.weights.h5`` or a ``.keras`` file.

    Raises:
        ModelFormatError: They refer to one.
        OSError: The file is not an HDF5 file.
    """
    h5py: Any = importlib.import_module("h5py")
    with contextlib.ExitStack() as ends:
        source: Any = path
        if path.endswith(_ARCHIVE):  # as Keras chooses: an HDF5 file may have an archive behind it
            archive = ends.enter_context(open_archive(path))
            if _IN_ARCHIVE not in archive.namelist():
                return
            source = ends.enter_context(archive.open(_IN_ARCHIVE))
        weights = ends.enter_context(h5py.File(source, "r"))
        for name in _elsewhere(h5py, weights):
            raise ModelFormatError(f"its weights '{name}' are in another file; save them with Keras")


def unused_weights(path: str, model: Any) -> list[str]:
    """Returns the weights of a file that its model has no place for; Keras loads the others and says nothing.

    Args:
        path: A ``.weights.h5`` file.
        model: The model that it was loaded into.
    """
    h5py: Any = importlib.import_module("h5py")
    with h5py.File(path, "r") as file:
        kept = _weights_of(h5py, file)
        if len(kept) <= len(model.variables):
            return []
    with tempfile.TemporaryDirectory(prefix="beam-ensembles-") as folder:
        own = os.path.join(folder, "own.weights.h5")
        model.save_weights(own)
        with h5py.File(own, "r") as file:
            return sorted(kept - _weights_of(h5py, file))


def _weights_of(h5py: Any, file: Any) -> set[str]:
    found: set[str] = set()

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and name.partition("/")[0] not in _OF_TRAINING:
            found.add(name)

    file.visititems(note)
    return found


def _elsewhere(h5py: Any, root: Any) -> Iterator[str]:
    """Yields the names of what is in other files, at any depth; links within a file are not followed.

    Each group is looked through once: a group may be in many others, and in itself, so that there are any number of
    paths.
    """
    waiting, seen = [root], {_address(h5py, root)}
    while waiting:
        group = waiting.pop()
        for name in group:
            link = group.get(name, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                yield f"{group.name}/{name}"
            elif isinstance(link, h5py.HardLink):
                item = group[name]
                address = _address(h5py, item)
                if isinstance(item, h5py.Group) and address not in seen:
                    seen.add(address)
                    waiting.append(item)
                elif isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
                    yield item.name


def _address(h5py: Any, item: Any) -> int:
    """Returns the address of an object within its file."""
    return int(h5py.h5o.get_info(item.id).addr)
