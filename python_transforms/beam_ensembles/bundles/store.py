"""The folder of one user on one machine in which bundles are unpacked, each once, by its digest.

Several processes unpack at once when workers start: the first one takes a lock and the others wait for it. What it has
written appears under its name when all of it is there and every digest was right.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO, Final

from beam_ensembles.bundles.archive import Archive, is_whole, manifest_in, read_archive
from beam_ensembles.bundles.manifest import Manifest
from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.ensemble_files import UNPACKED
from beam_ensembles.files.ownership import foreign_above
from beam_ensembles.files.temporary import temporary_folder

VARIABLE: Final = "BEAM_ENSEMBLES_CACHE"
_PRIVATE: Final = 0o700


class Store:
    """The unpacked bundles of a folder, which nobody else may write to.

    Args:
        folder: The folder; made where it is not there.

    Raises:
        EnsembleError: It cannot be made, or somebody else can write to it or put another one into its place.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        try:
            _make(folder)
            found = os.stat(folder)
            foreign = foreign_above(folder)
        except OSError as exc:
            text = f"the folder for bundles '{folder}' cannot be made: {exc.strerror}"
            raise EnsembleError(f"{text}; name another one in {VARIABLE}") from exc
        if found.st_uid != os.getuid() or found.st_mode & 0o022:
            text = f"others can write to the folder for bundles '{folder}'"
            raise EnsembleError(f"{text}; name another one in {VARIABLE}")
        if foreign is not None:
            text = f"others can replace the folder for bundles '{folder}', since '{foreign}' is theirs to write to"
            raise EnsembleError(f"{text}; name another one in {VARIABLE}")

    @classmethod
    def of_this_machine(cls) -> Store:
        """Returns this user's: ``BEAM_ENSEMBLES_CACHE``, else in the user's cache, else in the temporary folder."""
        given = os.environ.get(VARIABLE)
        if given:
            return cls(os.path.join(given, "bundles"))
        home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        try:
            return cls(os.path.join(home, "beam-ensembles", "bundles"))
        except EnsembleError:  # a container's user often has no home
            return cls(os.path.join(tempfile.gettempdir(), f"beam-ensembles-{os.getuid()}", "bundles"))

    def find(self, digest: str) -> str | None:
        """Returns the folder of an unpacked bundle; None where it is not there, or not whole any more."""
        found = self._whole(digest)
        return None if found is None else found[0]

    def unpack(self, file: IO[bytes], name: str, digest: str | None = None) -> tuple[str, Manifest]:
        """Unpacks a bundle where it is not there yet.

        Args:
            file: The bundle's open file.
            name: Its name.
            digest: Its SHA-256 where that is known already.

        Returns:
            The folder, and what the bundle in it says of itself.

        Raises:
            BadBundle: It is not a bundle, or not as it was packed.
            OSError: It cannot be read or written.
        """
        return self.unpack_archive(read_archive(file, name, digest))

    def unpack_archive(self, archive: Archive) -> tuple[str, Manifest]:
        """Unpacks a bundle whose form was checked; otherwise like ``unpack``."""
        with self._locked(archive.digest):
            found = self._whole(archive.digest)
            if found is not None:
                return found
            with self.temporary() as folder:
                os.chmod(folder, _PRIVATE)
                archive.unpack(folder)
                target = self._unpacked(archive.digest)
                shutil.rmtree(target, ignore_errors=True)
                os.rename(folder, target)
        return target, archive.manifest

    def keep(self, path: str, digest: str) -> str:
        """Copies a bundle's file that was fetched into the store; gives where it is from here on.

        Args:
            path: The file.
            digest: Its SHA-256.
        """
        target = os.path.join(self.folder, f"{digest}.zip")
        if not os.path.exists(target):
            with self.temporary() as folder:
                copy = shutil.copy(path, os.path.join(folder, "copy"))
                os.replace(copy, target)
        return target

    @contextlib.contextmanager
    def temporary(self) -> Iterator[str]:
        """Returns an empty folder on the store's disk for as long as it is needed."""
        with temporary_folder("new-", self.folder) as parent:
            folder = os.path.join(parent, "bundle")
            os.mkdir(folder, _PRIVATE)
            yield folder

    def _unpacked(self, digest: str) -> str:
        return os.path.join(self.folder, f"{digest}{UNPACKED}")

    def _whole(self, digest: str) -> tuple[str, Manifest] | None:
        folder = self._unpacked(digest)
        manifest = manifest_in(folder)
        return (folder, manifest) if manifest is not None and is_whole(folder, manifest) else None

    @contextlib.contextmanager
    def _locked(self, digest: str) -> Iterator[None]:
        """Keeps others from unpacking the same; the file that they wait for is gone afterwards."""
        path = os.path.join(self.folder, f"{digest}.lock")
        while True:
            with open(path, "w", encoding="ascii") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not _is_at(lock, path):  # who had it before has removed it
                    continue
                try:
                    yield
                finally:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(path)
                return


def _make(folder: str) -> None:
    """Creates a folder, and its missing parents, for this user alone."""
    if os.path.isdir(folder):
        return
    _make(os.path.dirname(folder) or os.curdir)
    try:
        os.mkdir(folder, _PRIVATE)
    except FileExistsError:  # another process was faster, or it is a file
        if not os.path.isdir(folder):
            raise


def _is_at(file: IO[str], path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
