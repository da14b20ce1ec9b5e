"""Reads files: of this machine, of storage through Beam's FileSystems, of the web by requests."""

from __future__ import annotations

import dataclasses
import functools
import os
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final
from urllib.parse import urlsplit

import requests
import requests.adapters
from urllib3.exceptions import HTTPError

from beam_ensembles.errors import EnsembleError, NodeError
from beam_ensembles.files.deadlines import TookTooLong, call_within
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.files.local_files import open_regular, path_of
from beam_ensembles.files.storage import file_systems, open_stored
from beam_ensembles.files.uris import is_web
from beam_ensembles.files.web_files import OtherHost, WebRefusal, open_web
from beam_ensembles.functions.read.places import Places
from beam_ensembles.handlers.support.retrying import tried_again
from beam_ensembles.messages.foreign_errors import described

_BLOCK: Final = 1 << 18
_GONE: Final = (404, 410)
_PASSING: Final = (408, 425, 429, 500, 502, 503, 504)
"""The statuses of answers that may be others the next time."""


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What one read may take.

    Attributes:
        max_bytes: The largest file.
        seconds: How long one attempt may take.
        retries: How often a read that failed in passing is made again.
        concurrency: How many files are read at once.
    """

    max_bytes: int
    seconds: float
    retries: int
    concurrency: int


class Passing(NodeError):
    """A read failed in a way that may be gone the next time."""


class Unreachable(Passing):
    """The same where it is the host itself that cannot be reached."""


class Reader:
    """Reads the files of a batch side by side.

    Args:
        places: Which files rows may name.
        limits: What one read may take.
    """

    def __init__(self, places: Places, limits: Limits) -> None:
        self._places, self._limits = places, limits
        self._session = _session(limits.concurrency)

    def read_all(self, names: Iterable[str]) -> Mapping[str, bytes | NodeError]:
        """Reads each file once.

        Returns:
            Its bytes by name, or why it cannot be read.
        """
        distinct = list(dict.fromkeys(names))
        away = _Away()
        pool = ThreadPoolExecutor(min(self._limits.concurrency, len(distinct)) or 1)
        try:
            found = pool.map(lambda name: self._read(name, away), distinct)
            return dict(zip(distinct, found, strict=True))
        finally:
            pool.shutdown(
                wait=False, cancel_futures=True
            )  # a program that is told to end does not wait for servers

    def _read(self, name: str, away: _Away) -> bytes | NodeError:
        place = name
        try:
            place = self._places.find(name)
            path = local_path(place)
            if path is not None:
                return self._local(path)
            if not is_web(place):
                return self._again(self._stored, place)
            away.check(place)
            return self._again(self._web, place)
        except Unreachable as error:
            away.add(place, error)
            return error
        except Exception as error:
            return error if isinstance(error, NodeError) else _unreadable(name, error)

    def _again(self, read: Any, place: str) -> bytes:
        found: bytes = tried_again(read, self._limits.retries, lambda error: isinstance(error, Passing))(
            place
        )
        return found

    def _local(self, path: str) -> bytes:
        if not os.path.exists(path):
            raise NodeError("missing_file", f"there is no file '{path}'")
        if not os.path.isfile(path):
            raise NodeError("unreadable_file", f"'{path}' is not a regular file")
        self._check_size(path, os.path.getsize(path))
        with open_regular(path) as file:
            if path_of(file) != path:  # a link was put there after the places were compared
                raise NodeError("unreadable_file", f"'{path}' was replaced while it was read")
            return self._checked(path, file.read(self._limits.max_bytes + 1))

    def _stored(self, place: str) -> bytes:
        try:
            read = functools.partial(_stored, place, self._limits.max_bytes + 1)
            return self._checked(place, call_within(self._limits.seconds, read, f"reading '{place}'"))
        except TookTooLong as exc:
            raise Passing("server_unreachable", str(exc)) from exc
        except NodeError:
            raise
        except ValueError as exc:  # no such file system, or not installed
            raise _unreadable(place, exc) from exc
        except Exception as exc:  # each file system has errors of its own
            if self._is_missing(place):
                raise NodeError("missing_file", f"there is no file '{place}'") from exc
            raise Passing("server_unreachable", f"'{place}' cannot be read: {described(exc)}") from exc

    def _is_missing(self, place: str) -> bool:
        try:
            exists = functools.partial(file_systems().exists, place)
            return not call_within(self._limits.seconds, exists, f"asking for '{place}'")
        except Exception:  # it cannot be asked, as it could not be read
            return False

    def _web(self, url: str) -> bytes:
        deadline = time.monotonic() + self._limits.seconds
        try:
            with open_web(self._session.get, url, self._limits.seconds, self._places.has) as answer:
                return self._content(url, answer, deadline)
        except WebRefusal as refusal:
            if refusal.status in _PASSING:
                raise Passing("server_unreachable", str(refusal)) from refusal
            code = "missing_file" if refusal.status in _GONE else "unreadable_file"
            raise NodeError(code, str(refusal)) from refusal
        except OtherHost as error:
            raise NodeError("untrusted_host", str(error)) from error
        except TookTooLong as exc:
            raise Passing("server_unreachable", str(exc)) from exc
        except (requests.ReadTimeout, HTTPError) as exc:
            raise Passing("server_unreachable", f"'{url}' cannot be read: {type(exc).__name__}") from exc
        except requests.ConnectionError as exc:
            raise Unreachable("server_unreachable", f"'{url}' cannot be read: {type(exc).__name__}") from exc

    def _content(self, url: str, answer: Any, deadline: float) -> bytes:
        length = answer.headers.get("content-length", "")
        self._check_size(url, int(length) if length.isdecimal() else 0)
        read = getattr(answer.raw, "read1", answer.raw.read)  # read1 waits for no whole block
        blocks, size = [], 0
        while block := read(_BLOCK, decode_content=True):
            blocks.append(block)
            size += len(block)
            self._check_size(url, size)
            if time.monotonic() > deadline:
                text = f"'{url}' does not come within the {self._limits.seconds:g} seconds of 'timeout'"
                raise Passing("server_unreachable", text)
        return b"".join(blocks)

    def _checked(self, place: str, content: bytes) -> bytes:
        self._check_size(place, len(content))
        return content

    def _check_size(self, place: str, size: int) -> None:
        if size > self._limits.max_bytes:
            text = f"'{place}' is larger than the {self._limits.max_bytes} bytes of 'max_bytes'"
            raise NodeError("unreadable_file", text)


def _stored(place: str, most: int) -> bytes:
    with open_stored(place) as file:
        found: bytes = file.read(most)
        return found


class _Away:
    """The hosts that could not be reached in a batch: its other files there are not waited for."""

    def __init__(self) -> None:
        self._errors: dict[str, Unreachable] = {}
        self._lock = threading.Lock()

    def add(self, url: str, error: Unreachable) -> None:
        with self._lock:
            self._errors.setdefault(urlsplit(url).netloc, error)

    def check(self, url: str) -> None:
        with self._lock:
            error = self._errors.get(urlsplit(url).netloc)
        if error is not None:
            raise NodeError(error.code, f"not tried, since {error.message}")


def _session(connections: int) -> requests.Session:
    """Creates a session that keeps connections for other files of a host, but nothing that the host says of rows."""
    session = requests.Session()
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    for scheme in ("http://", "https://"):
        session.mount(scheme, requests.adapters.HTTPAdapter(pool_maxsize=connections))
    return session


def _unreadable(place: str, error: Exception) -> NodeError:
    said = str(error) if isinstance(error, EnsembleError) else described(error)
    return NodeError("unreadable_file", f"'{place}' cannot be read: {said}")
