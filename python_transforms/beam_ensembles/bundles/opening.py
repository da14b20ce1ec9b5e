"""A bundle to what the checks of an ensemble need: its text, and files that its URIs stand for."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping
from typing import IO, Final

from beam_ensembles.bundles.archive import sha256_of
from beam_ensembles.bundles.manifest import BadBundle, Manifest, digest_in, name_of
from beam_ensembles.bundles.store import Store
from beam_ensembles.errors import WHOLE_FILE, InvalidEnsemble, Problem, listed
from beam_ensembles.graph.files import Bundle, FileProblem, Files, local_path
from beam_ensembles.handlers.remote_files import fetched
from beam_ensembles.handlers.web import is_web
from beam_ensembles.spec.load import read_text

_DIGESTS_KEPT: Final = 64


@dataclasses.dataclass(frozen=True, slots=True)
class OpenedBundle:
    """A bundle that was unpacked and compared with its digests.

    Attributes:
        text: Its ensemble file's text.
        files: What that file may use: nothing of this machine but the bundle.
        parameters: Values of ``${name}``: those that it was packed with, and over them the caller's.
    """

    text: str
    files: Files
    parameters: Mapping[str, str]


def open_bundle(
    place: str, files: Files, parameters: Mapping[str, str] | None = None, *, where: str = WHOLE_FILE
) -> OpenedBundle:
    """Unpacks a bundle, where that has not been done yet, and compares it with its digests.

    It is trusted, as its files are then, where its place is or where ``files`` trusts ``bundle:`` and its digest.

    Args:
        place: Absolute path or URI of the bundle; its reader may read it.
        files: What an ensemble may use of this and other machines.
        parameters: Values of ``${name}``.
        where: The place of problems.

    Raises:
        InvalidEnsemble: It cannot be read, is no bundle, is not as it was packed, or brings code that nobody vouches
            for.
        EnsembleError: There is no room for it on this machine.
    """
    try:
        bundle, manifest = _unpacked(place, files)
    except BadBundle as exc:
        text = f"'{place}' is no bundle that can be used: {exc}"
        raise InvalidEnsemble([Problem(where, "bad_bundle", text)]) from exc
    except FileProblem as exc:
        raise InvalidEnsemble([Problem(where, exc.code, str(exc))]) from exc
    except OSError as exc:
        text = f"'{place}' cannot be read or unpacked: {exc.strerror or exc}"
        raise InvalidEnsemble([Problem(where, "unreadable_file", text)]) from exc
    if manifest.code and not bundle.is_trusted:
        text = (
            f"the bundle brings code of its own ({listed(manifest.code)}), and nothing vouches for it; trust the place "
            f"of the bundle, or the bundle itself (serve --trust {bundle.uri})"
        )
        raise InvalidEnsemble([Problem(where, "untrusted_code", text)])
    file = os.path.join(bundle.root, manifest.file)
    inside = dataclasses.replace(files, base_uri=os.path.dirname(file), bundle=bundle)
    return OpenedBundle(read_text(file), inside, {**manifest.parameters, **(parameters or {})})


def _unpacked(place: str, files: Files) -> tuple[Bundle, Manifest]:
    store = Store.of_this_machine()
    name = os.path.basename(place)
    with _local(place, files, store) as (file, digest, archive):
        root, manifest = store.unpack(file, name, digest)
        size = file.seek(0, os.SEEK_END)
    if digest_in(name) is None:  # two bundles of one name would be one artifact
        name = name_of(manifest.ensemble, digest)
    bundle = Bundle(name, digest, size, archive, root, manifest.places)
    trusted = files.is_trusted(place) or files.is_trusted(f"{bundle.uri}/")
    return dataclasses.replace(bundle, is_trusted=trusted), manifest


@contextlib.contextmanager
def _local(place: str, files: Files, store: Store) -> Iterator[tuple[IO[bytes], str, str]]:
    """Gives a bundle's open file, its digest, and where the file is on this machine."""
    path = local_path(place)
    if path is not None:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            yield file, _digest(path, found.st_size, found.st_mtime_ns, found.st_ino), path
        return
    if is_web(place):
        files.check_host(place)
    digest, kept = _fetched(place, store)
    with open(kept, "rb") as file:
        yield file, digest, kept


def _fetched(place: str, store: Store) -> tuple[str, str]:
    """Fetches a bundle's file; gives its digest, and where it is on this machine from here on."""
    try:
        with fetched(place) as copy:
            with open(copy, "rb") as file:
                digest = sha256_of(file)
            return digest, store.keep(copy, digest)
    except Exception as exc:  # what a file system raises where it cannot be read is its own
        text = " ".join(str(exc).split())
        raise FileProblem("unreadable_file", f"'{place}' cannot be read: {text}") from exc


@functools.lru_cache(_DIGESTS_KEPT)
def _digest(path: str, size: int, time: int, inode: int) -> str:
    """Computes the SHA-256 of a file once for as long as it stays as it is."""
    with open(path, "rb") as file:
        return sha256_of(file)
