"""A bundle's file, which a stranger may have made: read with limits, and unpacked to files whose digests are right.

Its members are stored, not compressed, so that nothing in it can become larger than the file itself.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import struct
import zipfile
from typing import IO, Final

from beam_ensembles.bundles.file_names import digest_in
from beam_ensembles.bundles.manifest import MANIFEST, BadBundle, Manifest
from beam_ensembles.files.archives import archive_of
from beam_ensembles.interruption import checkpoint

_BLOCK: Final = 1 << 20
_MOST_BYTES: Final = 256 << 30
_LARGEST_MANIFEST: Final = 64 << 20
"""Bytes of the manifest, which is read to memory as a whole."""

_ENCRYPTED: Final = 0x1
_DAMAGED: Final = (zipfile.BadZipFile, EOFError, ValueError, RuntimeError, LookupError, struct.error)
"""What Python's zipfile raises on bytes that no zip has; NotImplementedError is a RuntimeError."""
_TIME: Final = 315_532_800
"""1980-01-01, the time of every unpacked file: one that was changed since is known by it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Archive:
    """A bundle's file that is open, whose form was checked.

    Attributes:
        name: Name of the file.
        digest: SHA-256 of the whole file.
        size: Its bytes.
        manifest: What it says of itself.
        members: The open zip.
    """

    name: str
    digest: str
    size: int
    manifest: Manifest
    members: zipfile.ZipFile

    def unpack(self, folder: str) -> None:
        """Writes its files to an empty folder, and with them the manifest.

        Raises:
            BadBundle: A file is not what the manifest says.
            OSError: It cannot be written.
        """
        for name, expected in self.manifest.files.items():
            if self._write(name, os.path.join(folder, name)) != expected.sha256:
                raise BadBundle(f"{name!r} is not the file that was packed: its SHA-256 is another")
        self._write(MANIFEST, os.path.join(folder, MANIFEST))

    def _write(self, name: str, path: str) -> str:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        digest = hashlib.sha256()
        try:
            with self.members.open(name) as source, open(path, "xb") as sink:
                while block := source.read(_BLOCK):
                    checkpoint()
                    digest.update(block)
                    sink.write(block)
        except _DAMAGED as exc:
            raise BadBundle(f"{name!r} is damaged: {exc}") from exc
        os.utime(path, (_TIME, _TIME))
        os.chmod(path, 0o444)
        return digest.hexdigest()


def read_archive(file: IO[bytes], name: str, digest: str | None = None) -> Archive:
    """Reads a bundle's file and checks its form; what its files hold is compared when they are unpacked.

    Args:
        file: The open file; it must stay open for ``unpack``.
        name: Its name.
        digest: Its SHA-256 where that is known already.

    Raises:
        BadBundle: It is not a bundle.
    """
    size = file.seek(0, os.SEEK_END)
    if size > _MOST_BYTES:
        raise BadBundle(f"it has {size} bytes; {_MOST_BYTES} is the most")
    try:
        members = archive_of(file)
    except (*_DAMAGED, OSError) as exc:
        raise BadBundle(f"it is not a zip archive: {exc}") from exc
    if members.comment:
        raise BadBundle("its zip has a comment; 'beam-ensembles pack' writes none")
    digest = digest or sha256_of(file)
    named = digest_in(name)
    if named is not None and not digest.startswith(named):
        raise BadBundle(f"its SHA-256 is {digest}, but its name says {named}")
    infos = members.infolist()
    _check_members(infos, size)
    manifest = _manifest(members, infos)
    return Archive(name, digest, size, manifest, members)


def sha256_of(file: IO[bytes]) -> str:
    """Computes the SHA-256 of an open file."""
    digest = hashlib.sha256()
    file.seek(0)
    while block := file.read(_BLOCK):
        checkpoint()
        digest.update(block)
    return digest.hexdigest()


def is_whole(folder: str, manifest: Manifest) -> bool:
    """Returns whether a folder still has what was unpacked to it: every file, of its size and unchanged since."""
    try:
        found = {name: os.stat(os.path.join(folder, name)) for name in manifest.files}
    except OSError:
        return False
    return all(
        found[name].st_size == file.size and int(found[name].st_mtime) == _TIME
        for name, file in manifest.files.items()
    )


def manifest_in(folder: str) -> Manifest | None:
    """Reads the manifest of an unpacked bundle; None where there is none."""
    try:
        with open(os.path.join(folder, MANIFEST), "rb") as file:
            return Manifest.parse(file.read())
    except (OSError, BadBundle):
        return None


def _check_members(infos: list[zipfile.ZipInfo], size: int) -> None:
    for info in infos:
        is_stored = info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size
        if not is_stored or info.flag_bits & _ENCRYPTED:
            raise BadBundle(f"its member {info.filename[:200]!r} is compressed or encrypted")
    if sum(info.file_size for info in infos) > size:
        raise BadBundle("its members overlap")


def _manifest(members: zipfile.ZipFile, infos: list[zipfile.ZipInfo]) -> Manifest:
    sizes = {info.filename: info.file_size for info in infos}
    if len(sizes) != len(infos):
        raise BadBundle("a member is there twice")
    if sizes.get(MANIFEST, _LARGEST_MANIFEST + 1) > _LARGEST_MANIFEST:
        raise BadBundle(f"it has no '{MANIFEST}', or a huge one: 'beam-ensembles pack' makes bundles")
    try:
        manifest = Manifest.parse(members.read(MANIFEST))
    except _DAMAGED as exc:
        raise BadBundle(f"its manifest is damaged: {exc}") from exc
    said = {name: file.size for name, file in manifest.files.items()}
    differing = sorted({*said.items()} ^ {*sizes.items()} - {(MANIFEST, sizes[MANIFEST])})
    if differing:
        raise BadBundle(
            f"{differing[0][0][:200]!r} is not the file that was packed: it is missing or of another size"
        )
    return manifest
