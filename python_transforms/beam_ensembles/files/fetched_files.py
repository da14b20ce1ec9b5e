"""Model files of other places, fetched to this machine: storage by Beam's FileSystems, the web by requests."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urljoin, urlsplit

from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.deadlines import TookTooLong, call_within
from beam_ensembles.files.local_files import is_pattern
from beam_ensembles.files.storage import file_systems, open_stored
from beam_ensembles.files.temporary import temporary_folder
from beam_ensembles.files.uris import is_web
from beam_ensembles.files.web_files import anywhere, is_within, open_web
from beam_ensembles.interruption import checkpoint

_BLOCK: Final = 1 << 20
MOST_SECONDS: Final = 3_600.0
MOST_BYTES: Final = 64 << 30
_ATTEMPTS: Final = 3
_SILENCE_SECONDS: Final = 20.0
"""How long storage may take to open a file, or to send its next block; a web server may take as long."""


@dataclasses.dataclass(frozen=True, slots=True)
class Patience:
    """How long a read may take.

    Attributes:
        attempts: How often a web server is asked.
        silence: Seconds until a file is open, and until its next block comes.
        seconds: Seconds until all of it is there.
    """

    attempts: int = _ATTEMPTS
    silence: float = _SILENCE_SECONDS
    seconds: float = MOST_SECONDS


@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read.

    Attributes:
        folders: Whether it may be a folder, whose files are all fetched; never of the web.
        most: The most bytes of a file; without it 64 GiB of the web, and any number in storage.
        within: The URIs below which every redirect must stay, since the file is trusted for where it lies; none: all of
            its host.
        patience: How long it may take.
    """

    folders: bool = False
    most: int | None = None
    within: tuple[str, ...] = ()
    patience: Patience = Patience()


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    """Copies that stay: those of ``places``, until ``ends``."""

    places: frozenset[str]
    ends: contextlib.ExitStack
    copies: dict[tuple[str, Beside, Reading], str] = dataclasses.field(default_factory=dict)


_KEPT: ContextVar[_Kept | None] = ContextVar("kept", default=None)


@contextlib.contextmanager
def fetched_once(places: Iterable[str | None]) -> Iterator[None]:
    """Fetches each file once within the block, though several nodes load it one after the other.

    Args:
        places: The absolute URI of each node's file; the copies of those that are there twice stay until the end.
    """
    counts = Counter(place for place in places if place is not None)
    with contextlib.ExitStack() as ends:
        token = _KEPT.set(_Kept(frozenset(place for place, count in counts.items() if count > 1), ends))
        try:
            yield
        finally:
            _KEPT.reset(token)


Beside: TypeAlias = Callable[[str], Sequence[str]]
"""Returns the names of the files that belong to a model's file at a path, relative to its folder and within it."""


def nothing_beside(_: str) -> Sequence[str]:
    """Returns that a model's file is all there is of it."""
    return ()


@contextlib.contextmanager
def fetched(
    place: str,
    *,
    folders: bool = False,
    beside: Beside = nothing_beside,
    most: int | None = None,
    within: tuple[str, ...] = (),
    patience: Patience = Patience(),
) -> Iterator[str]:
    """Returns the local copy of a file of another place, for as long as it is being loaded.

    Args:
        place: Its absolute URI; in storage a pattern stands for its newest match.
        folders: Whether it may be a folder, whose files are all fetched; never of the web.
        beside: Which files belong to it; they are fetched next to it.
        most: As in ``Reading``.
        within: As in ``Reading``.
        patience: As in ``Reading``.

    Raises:
        EnsembleError: It cannot be read, or is too large.
    """
    reading = Reading(folders, most, within, patience)
    place = call_within(patience.silence, functools.partial(_newest, place), f"looking for '{place}'")
    kept = _KEPT.get()
    if kept is None or place not in kept.places:
        with _copied(place, beside, reading) as copy:
            yield copy
        return
    key = (place, beside, reading)
    if key not in kept.copies:
        kept.copies[key] = kept.ends.enter_context(_copied(*key))
    yield kept.copies[key]


@contextlib.contextmanager
def _copied(place: str, beside: Beside, reading: Reading) -> Iterator[str]:
    with temporary_folder("beam-ensembles-copy-") as folder:
        copy = os.path.join(folder, os.path.basename(urlsplit(place).path.rstrip("/")) or "model")
        _fetch(place, copy, reading)
        for name in beside(copy):
            target = os.path.join(folder, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _fetch(_beside(place, name), target, dataclasses.replace(reading, folders=False))
        yield copy


def _beside(place: str, name: str) -> str:
    """Returns the place of a file in the same folder, or below it."""
    if is_web(place):
        return urljoin(place, quote(name))
    return f"{place.rpartition('/')[0]}/{name}"


def _fetch(place: str, copy: str, reading: Reading) -> None:
    if is_web(place):
        _fetch_web(place, copy, reading)
    else:
        _fetch_stored(place, copy, reading)


def _fetch_stored(place: str, copy: str, reading: Reading) -> None:
    root = place.rstrip("/") + "/"
    silence = reading.patience.silence
    found: list[str] = []
    if reading.folders:
        found = call_within(silence, functools.partial(_listed, root), f"listing '{place}'")
    deadline = time.monotonic() + reading.patience.seconds
    for path in found or [place]:
        inside = path.removeprefix(root) if found else ""
        target = os.path.normpath(os.path.join(copy, inside)) if inside else copy
        if os.path.commonpath((target, copy)) != copy:
            raise EnsembleError(f"'{path}' lies outside of its folder")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _copy_stored(path, target, reading, deadline)


def _listed(root: str) -> list[str]:
    return [file.path for file in file_systems().match([f"{root}**"])[0].metadata_list]


def _copy_stored(path: str, target: str, reading: Reading, deadline: float) -> None:
    what, silence = f"reading '{path}'", reading.patience.silence
    opened = call_within(silence, functools.partial(open_stored, path), what)
    with opened as source, open(target, "wb") as sink:
        while block := call_within(silence, functools.partial(source.read, _BLOCK), what):
            sink.write(block)
            if reading.most is not None and sink.tell() > reading.most:
                raise EnsembleError(f"'{path}' is too large: the limit is {reading.most / (1 << 30):.3g} GiB")
            if time.monotonic() > deadline:
                raise EnsembleError(
                    f"'{path}' comes too slowly: the limit is {reading.patience.seconds:g} seconds"
                )


def _newest(place: str) -> str:
    """Returns the file in storage that was changed last of those that match a pattern, or the place itself."""
    if is_web(place) or not is_pattern(place):
        return place
    found = file_systems().match([place])[0].metadata_list
    newest = max(found, key=lambda file: (file.last_updated_in_seconds, file.path), default=None)
    if newest is None:
        raise EnsembleError(f"no file matches the pattern '{place}'")
    return str(newest.path)


def _fetch_web(url: str, copy: str, reading: Reading) -> None:
    import requests
    from urllib3.exceptions import HTTPError

    most = reading.patience.attempts
    for attempt in range(1, most + 1):
        try:
            return _download(requests.get, url, copy, reading)
        except (requests.ConnectionError, requests.Timeout, HTTPError, TookTooLong) as exc:
            if attempt == most:
                reason = f"{type(exc).__name__} after {attempt} attempts"
                raise EnsembleError(f"'{url}' cannot be read: {reason}") from exc
            time.sleep(2.0**attempt)
    return None


def _download(get: Callable[..., Any], url: str, copy: str, reading: Reading) -> None:
    patience, most = reading.patience, reading.most or MOST_BYTES
    deadline = time.monotonic() + patience.seconds
    may_follow = is_within(reading.within) if reading.within else anywhere
    with open_web(get, url, patience.silence, may_follow) as answer, open(copy, "wb") as sink:
        while block := answer.raw.read1(_BLOCK, decode_content=True):  # which waits for no whole block
            checkpoint()
            sink.write(block)
            if sink.tell() > most or time.monotonic() > deadline:
                limits = f"{most / (1 << 30):.3g} GiB and {patience.seconds / 60:.3g} minutes"
                raise EnsembleError(f"'{url}' is too large, or comes too slowly: the limits are {limits}")
