"""Model files of other places, fetched to this machine: storage through Beam's FileSystems, the web through requests.

Beam's FileSystems (2.77) open no http(s) URLs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

from beam_ensembles.errors import EnsembleError

_BLOCK: Final = 1 << 20
_CONNECT_SECONDS: Final = 10.0
_SILENCE_SECONDS: Final = 60.0
"""How long a web server may be silent in the middle of an answer."""
_MOST_SECONDS: Final = 3_600.0
_MOST_BYTES: Final = 64 << 30
_MOST_REDIRECTS: Final = 5
_ATTEMPTS: Final = 3


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    """Copies that stay: those of ``places``, until ``ends``."""

    places: frozenset[str]
    ends: contextlib.ExitStack
    copies: dict[tuple[str, bool], str] = dataclasses.field(default_factory=dict)


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


@contextlib.contextmanager
def fetched(place: str, *, folders: bool = False) -> Iterator[str]:
    """Gives the local copy of a file of another place, for as long as it is being loaded.

    Args:
        place: Its absolute URI.
        folders: Whether it may be a folder, whose files are all fetched; never of the web.

    Raises:
        EnsembleError: It cannot be read, or is too large.
    """
    kept = _KEPT.get()
    if kept is None or place not in kept.places:
        with _copied(place, folders) as copy:
            yield copy
        return
    if (place, folders) not in kept.copies:
        kept.copies[place, folders] = kept.ends.enter_context(_copied(place, folders))
    yield kept.copies[place, folders]


@contextlib.contextmanager
def _copied(place: str, folders: bool) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="beam-ensembles-") as folder:
        copy = os.path.join(folder, os.path.basename(urlsplit(place).path.rstrip("/")) or "model")
        if urlsplit(place).scheme.lower() in ("http", "https"):
            _fetch_web(place, copy)
        else:
            _fetch_stored(place, copy, folders)
        yield copy


def _fetch_stored(place: str, copy: str, folders: bool) -> None:
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
            shutil.copyfileobj(source, sink, _BLOCK)


def _fetch_web(url: str, copy: str) -> None:
    import requests

    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _download(requests, url, copy)
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError) as exc:
            if attempt == _ATTEMPTS:
                reason = f"{type(exc).__name__} after {attempt} attempts"
                raise EnsembleError(f"'{url}' cannot be read: {reason}") from exc
            time.sleep(2.0**attempt)
    return None


def _download(requests: Any, url: str, copy: str) -> None:
    deadline = time.monotonic() + _MOST_SECONDS
    with _opened(requests, url) as answer, open(copy, "wb") as sink:
        for block in answer.iter_content(_BLOCK):
            sink.write(block)
            if sink.tell() > _MOST_BYTES or time.monotonic() > deadline:
                limits = f"{_MOST_BYTES >> 30} GiB and {_MOST_SECONDS / 60:.0f} minutes"
                raise EnsembleError(f"'{url}' is too large, or comes too slowly: the limits are {limits}")


def _opened(requests: Any, url: str) -> Any:
    """Opens a URL; follows redirects only within its own host, since only that one was allowed."""
    found = url
    for _ in range(_MOST_REDIRECTS):
        answer = requests.get(
            found, stream=True, timeout=(_CONNECT_SECONDS, _SILENCE_SECONDS), allow_redirects=False
        )
        if not answer.is_redirect:
            break
        answer.close()
        target = urljoin(found, unquote(answer.headers["location"]))
        if urlsplit(target)[:2] != urlsplit(url)[:2]:
            raise EnsembleError(f"'{url}' leads to another host: name '{target}' itself, and allow its host")
        found = target
    if answer.status_code != 200:
        answer.close()
        raise EnsembleError(f"'{url}' cannot be read: the server says {answer.status_code} {answer.reason}")
    return answer
