"""A bundle to what the checks of an ensemble need: its text, and files that its URIs stand for."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import shutil
from collections.abc import Iterator, Mapping
from typing import IO, Final
from urllib.parse import urlsplit

from beam_ensembles.bundles.archive import Archive, read_archive, sha256_of
from beam_ensembles.bundles.file_names import digest_in, name_of
from beam_ensembles.bundles.manifest import BadBundle, Manifest
from beam_ensembles.bundles.opened import OpenedBundle
from beam_ensembles.bundles.store import Store
from beam_ensembles.errors import WHOLE_FILE, EnsembleError, InvalidEnsemble, Problem, listed
from beam_ensembles.files.ensemble_files import Bundle, FileProblem, Files, local_path
from beam_ensembles.files.fetched_files import Patience, fetched
from beam_ensembles.files.local_files import open_regular
from beam_ensembles.files.own_network import refuse_own_network
from beam_ensembles.files.uris import is_web
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.spec.load import read_text
from beam_ensembles.spec.parameters import not_known

_BLOCK: Final = 1 << 20
_DIGESTS_KEPT: Final = 64
_MOST_BYTES_OF_UNTRUSTED: Final = 8 << 30
"""The most bytes fetched from a place that nobody vouches for."""
_MOST_BYTES_OF_A_FILE: Final = 16 << 20
"""What an ensemble file may have, which is read to memory as a whole."""
_PATIENCE: Final = Patience(attempts=2, silence=20.0, seconds=900.0)
"""A caller waits for the answer meanwhile."""


def open_bundle(
    place: str,
    files: Files,
    parameters: Mapping[str, str] | None = None,
    *,
    where: str = WHOLE_FILE,
    is_asked_for: bool = False,
) -> OpenedBundle:
    """Unpacks a bundle, where that has not been done yet, and compares it with its digests.

    It is trusted, as its files are then, where its place is or where ``files`` trusts ``bundle:`` and its digest.

    Args:
        place: Absolute path or URI of the bundle.
        files: What an ensemble may use of this and other machines.
        parameters: Values of ``${name}``.
        where: The place of problems.
        is_asked_for: Whether a client names it, who may have files of this machine opened only where they are trusted.

    Raises:
        InvalidEnsemble: It may not be opened for a client, cannot be read, is not a bundle, is not as it was packed, or
            brings code that nobody vouches for; or there is no room for it on this machine; or it was packed without
            a value for one of ``parameters``.
    """
    try:
        bundle, manifest = _unpacked(place, files, is_asked_for)
    except BadBundle as exc:
        text = f"'{place}' is not a usable bundle: {exc}"
        raise InvalidEnsemble([Problem(where, "bad_bundle", text)]) from exc
    except FileProblem as exc:
        raise InvalidEnsemble([Problem(where, exc.code, str(exc))]) from exc
    except OSError as exc:
        text = f"'{place}' cannot be read or unpacked: {exc.strerror or exc}"
        raise InvalidEnsemble([Problem(where, "unreadable_file", text)]) from exc
    # For what a misspelled name means the value that was packed would hold unseen.
    if unknown := not_known(parameters or {}, manifest.parameters, "the bundle"):
        raise InvalidEnsemble([Problem(where, "unknown_parameter", text) for text in unknown])
    file = os.path.join(bundle.root, manifest.file)
    inside = dataclasses.replace(files, base_uri=os.path.dirname(file), bundle=bundle)
    return OpenedBundle(read_text(file), inside, {**manifest.parameters, **(parameters or {})}, file)


def _unpacked(place: str, files: Files, is_asked_for: bool) -> tuple[Bundle, Manifest]:
    """Unpacks a bundle; what is refused before that leaves nothing in the store."""
    store = _store(place)
    name = os.path.basename(urlsplit(place).path if is_web(place) else place)
    with _local(place, files, store, is_asked_for) as (path, file, digest):
        archive = read_archive(file, name, digest)
        _check_size(archive.manifest)
        bundle = _described(archive, path, place, files)
        _check_code(archive.manifest, bundle)
        root, manifest = store.unpack_archive(archive)
        # Workers get a copy instead of a file that its owner may change.
        if path != local_path(place):
            bundle = dataclasses.replace(bundle, archive=store.keep(path, archive.digest))
    return dataclasses.replace(bundle, root=root, places=manifest.places), manifest


def _store(place: str) -> Store:
    try:
        return Store.of_this_machine()
    except EnsembleError as exc:
        raise FileProblem("unreadable_file", f"'{place}' cannot be unpacked: {exc}") from exc


def _described(archive: Archive, path: str, place: str, files: Files) -> Bundle:
    name = archive.name
    if digest_in(name) is None:  # two bundles of one name would be one artifact
        name = name_of(archive.manifest.ensemble, archive.digest)
    bundle = Bundle(name, archive.digest, archive.size, path, "", archive.manifest.places)
    trusted = files.is_trusted(place) or _is_vouched_for(archive.digest, files)
    return dataclasses.replace(bundle, is_trusted=trusted)


def _is_vouched_for(digest: str, files: Files) -> bool:
    return files.trusts_bundle(digest)


def _check_size(manifest: Manifest) -> None:
    size = manifest.files[manifest.file].size
    if size > _MOST_BYTES_OF_A_FILE:
        raise BadBundle(f"its ensemble file has {size} bytes; {_MOST_BYTES_OF_A_FILE} is the most")


def _check_code(manifest: Manifest, bundle: Bundle) -> None:
    if manifest.code and not bundle.is_trusted:
        text = (
            f"the bundle brings code of its own ({listed(manifest.code)}), but it is not trusted; trust the place of "
            f"the bundle, or the bundle itself (start with --trust {bundle.uri})"
        )
        raise FileProblem("untrusted_code", text)


@contextlib.contextmanager
def _local(
    place: str, files: Files, store: Store, is_asked_for: bool
) -> Iterator[tuple[str, IO[bytes], str | None]]:
    """Returns where a bundle's file is on this machine, the open file, and its digest where that is known."""
    path = local_path(place)
    if path is None:
        with _fetched(place, files) as copy, open(copy, "rb") as file:
            yield copy, file, None
    elif files.is_trusted(place) or not is_asked_for:
        with open_regular(path) as file:
            yield path, file, _digest(file)
    else:
        with _vouched_for(path, files, store) as file:
            yield file.name, file, None


@contextlib.contextmanager
def _vouched_for(path: str, files: Files, store: Store) -> Iterator[IO[bytes]]:
    """Returns a private copy of a bundle whose digest is trusted: its place is not, and its owner may still write.

    Raises:
        FileProblem: It is none; of other files of this machine a client learns not even whether they are there.
    """
    text = f"'{path}' is not in a folder that this service trusts, nor a bundle whose digest it trusts"
    refusal = FileProblem("untrusted_file", f"{text}; start it with --trust FOLDER or --trust bundle:SHA256")
    if not os.path.isfile(path) or not any(place.startswith("bundle:") for place in files.trusted):
        raise refusal
    with store.temporary() as folder, open(os.path.join(folder, "copy"), "w+b") as copy:
        try:
            with open_regular(path) as file:
                if os.fstat(file.fileno()).st_size > _MOST_BYTES_OF_UNTRUSTED or not _is_vouched_for(
                    _digest(file), files
                ):
                    raise refusal
                file.seek(0)
                shutil.copyfileobj(file, copy, _BLOCK)
        except OSError as exc:
            raise refusal from exc
        if not _is_vouched_for(sha256_of(copy), files):
            raise refusal
        yield copy


@contextlib.contextmanager
def _fetched(place: str, files: Files) -> Iterator[str]:
    files.check_place(place)
    is_trusted = files.is_trusted(place)
    most = None if is_trusted else _MOST_BYTES_OF_UNTRUSTED
    within = files.trusted if is_trusted else ()
    try:
        refuse_own_network(files, place)
    except EnsembleError as exc:
        raise FileProblem("untrusted_host", str(exc)) from exc
    with contextlib.ExitStack() as ends:
        try:
            copy = ends.enter_context(fetched(place, most=most, within=within, patience=_PATIENCE))
        except Exception as exc:  # what a file system raises where it cannot be read is its own
            text = str(exc) if isinstance(exc, EnsembleError) else text_of(exc)
            raise FileProblem("unreadable_file", f"'{place}' cannot be read: {text}") from exc
        yield copy


@dataclasses.dataclass(frozen=True, slots=True)
class _AsItIs:
    """An open file, which equals one that was opened before where nothing was written to it since."""

    state: tuple[int, ...]
    file: IO[bytes] = dataclasses.field(compare=False)


def _digest(file: IO[bytes]) -> str:
    """Computes the SHA-256 of an open file once for as long as it stays as it is."""
    found = os.fstat(file.fileno())
    state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return _digest_of(_AsItIs(state, file))


@functools.lru_cache(_DIGESTS_KEPT)
def _digest_of(opened: _AsItIs) -> str:
    return sha256_of(opened.file)
