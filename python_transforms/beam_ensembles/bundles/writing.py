"""A bundle's file: the same files give the same bytes, whenever and wherever they are packed."""

from __future__ import annotations

import hashlib
import os
import zipfile
from collections.abc import Callable, Mapping
from typing import Final

from beam_ensembles.bundles.archive import sha256_of
from beam_ensembles.bundles.manifest import MANIFEST, Manifest, PackedFile
from beam_ensembles.errors import EnsembleError

_BLOCK: Final = 1 << 20
_TIME: Final = (1980, 1, 1, 0, 0, 0)
_UNIX: Final = 3
_READABLE: Final = 0o100644 << 16


def write_bundle(
    path: str,
    members: Mapping[str, str],
    manifest_of: Callable[[Mapping[str, PackedFile]], Manifest],
    wrote: Callable[[int], None] = lambda _: None,
) -> tuple[str, Manifest]:
    """Writes a bundle.

    Args:
        path: Where to.
        members: The local path of each of its files, by name, in the order of the names.
        manifest_of: Makes the manifest once the files' digests are known.
        wrote: Is told how many bytes were written with each block.

    Returns:
        The bundle's SHA-256 and its manifest.

    Raises:
        EnsembleError: A file changed while it was read.
        OSError: A file cannot be read or written.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as bundle:
        packed = {name: _add(bundle, name, source, wrote) for name, source in members.items()}
        manifest = manifest_of(packed)
        bundle.writestr(_info(MANIFEST), manifest.to_json())
    with open(path, "rb") as file:
        return sha256_of(file), manifest


def _add(bundle: zipfile.ZipFile, name: str, path: str, wrote: Callable[[int], None]) -> PackedFile:
    info = _info(name)
    digest = hashlib.sha256()
    size = 0
    with open(path, "rb") as source:
        info.file_size = expected = os.fstat(source.fileno()).st_size
        with bundle.open(info, "w") as sink:
            while size < expected and (block := source.read(min(_BLOCK, expected - size))):
                digest.update(block)
                sink.write(block)
                size += len(block)
                wrote(len(block))
        if size != expected or source.read(1):
            raise EnsembleError(f"'{path}' changed while it was packed; pack again when it is written")
    return PackedFile(size, digest.hexdigest())


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _TIME)
    info.create_system = _UNIX
    info.external_attr = _READABLE
    return info
