"""Model files of other places, fetched to this machine: storage by Beam's FileSystems, the web by requests."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias
from urllib.parse import quote, urljoin, urlsplit

from beam_ensembles.errors import EnsembleError
from beam_ensembles.graph.files import is_pattern
from beam_ensembles.handlers.web import is_web, open_web

_BLOCK: Final = 1 << 20
_MOST_SECONDS: Final = 3_600.0
_MOST_BYTES: Final = 64 << 30
_ATTEMPTS: Final = 3


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    """Copies that stay: those of ``places``, until ``ends``."""

    places: frozenset[str]
    ends: contextlib.ExitStack
    copies: dict[tuple[str, bool, Beside], str] = dataclasses.field(default_factory=dict)


_KEPT: ContextVar[_Kept | None] = ContextVar("kept", default=None)


@contextlib.contextmanager
def fetched_once(places: Iterable[str | None]) -> Iterator[None]:
    """Lets files be fetched once within, though several nodes load them one after the other.

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
"""Gives the names of the files that belong to a model's file at a path, relative to its folder and within it."""


def nothing_beside(_: str) -> Sequence[str]:
    """Says that a model's file is all there is of it."""
    return ()


@contextlib.contextmanager
def fetched(
    place: str, *, folders: bool = False, beside: Beside = nothing_beside, most: int | None = None
) -> Iterator[str]:
    """Gives the local copy of a file of another place, for as long as it is being loaded.

    Args:
        place: Its absolute URI; in storage a pattern stands for its newest match.
        folders: Whether it may be a folder, whose files are all fetched; never of the web.
        beside: Which files belong to it; they are fetched to stand beside it.
        most: The most bytes of a file; without it 64 GiB of the web, and any number in storage.

    Raises:
        EnsembleError: It cannot be read, or is too large.
    """
    place = _newest(place)
    kept = _KEPT.get()
    if kept is None or place not in kept.places:
        with _copied(place, folders, beside, most) as copy:
            yield copy
        return
    key = (place, folders, beside)
    if key not in kept.copies:
        kept.copies[key] = kept.ends.enter_context(_copied(*key, most))
    yield kept.copies[key]


@contextlib.contextmanager
def _copied(place: str, folders: bool, beside: Beside, most: int | None) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="beam-ensembles-") as folder:
        copy = os.path.join(folder, os.path.basename(urlsplit(place).path.rstrip("/")) or "model")
        _fetch(place, copy, folders, most)
        for name in beside(copy):
            target = os.path.join(folder, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            _fetch(_beside(place, name), target, False, most)
        yield copy


def _beside(place: str, name: str) -> str:
    """Gives the place of a file in the same folder, or below it."""
    if is_web(place):
        return urljoin(place, quote(name))
    return f"{place.rpartition('/')[0]}/{name}"


def _fetch(place: str, copy: str, folders: bool, most: int | None) -> None:
    if is_web(place):
        _fetch_web(place, copy, most or _MOST_BYTES)
    else:
        _fetch_stored(place, copy, folders, most)


def _fetch_stored(place: str, copy: str, folders: bool, most: int | None) -> None:
    from apache_beam.io.filesystems import FileSystems

    root = place.rstrip("/") + "/"
    found: list[str] = []
    if folders:
        found = [file.path for file in FileSystems.match([f"{root}**"])[0].metadata_list]
    for path in found or [place]:
        inside = path.removeprefix(root) if found else ""
        target = os.path.normpath(os.path.join(copy, inside)) if inside else copy
        if os.path.commonpath((target, copy)) != copy:
            raise EnsembleError(f"'{path}' lies outside of its folder")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with FileSystems.open(path) as source, open(target, "wb") as sink:
            while block := source.read(_BLOCK):
                sink.write(block)
                if most is not None and sink.tell() > most:
                    raise EnsembleError(f"'{path}' is too large: the limit is {most / (1 << 30):.3g} GiB")


def _newest(place: str) -> str:
    """Gives the file in storage that was changed last of those that match a pattern, or the place itself."""
    from apache_beam.io.filesystems import FileSystems

    if is_web(place) or not is_pattern(place):
        return place
    found = FileSystems.match([place])[0].metadata_list
    newest = max(found, key=lambda file: (file.last_updated_in_seconds, file.path), default=None)
    if newest is None:
        raise EnsembleError(f"no file matches the pattern '{place}'")
    return str(newest.path)


def _fetch_web(url: str, copy: str, most: int) -> None:
    import requests

    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _download(requests.get, url, copy, most)
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as exc:
            if attempt == _ATTEMPTS:
                reason = f"{type(exc).__name__} after {attempt} attempts"
                raise EnsembleError(f"'{url}' cannot be read: {reason}") from exc
            time.sleep(2.0**attempt)
    return None


def _download(get: Callable[..., Any], url: str, copy: str, most: int) -> None:
    deadline = time.monotonic() + _MOST_SECONDS
    with open_web(get, url) as answer, open(copy, "wb") as sink:
        for block in answer.iter_content(_BLOCK):
            sink.write(block)
            if sink.tell() > most or time.monotonic() > deadline:
                limits = f"{most / (1 << 30):.3g} GiB and {_MOST_SECONDS / 60:.0f} minutes"
                raise EnsembleError(f"'{url}' is too large, or comes too slowly: the limits are {limits}")
