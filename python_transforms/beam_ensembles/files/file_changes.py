"""What changes when a model's files do: sizes, times, and what a web server says of a file without sending it."""

from __future__ import annotations

import contextlib
import functools
import os
from typing import Any, Final

from beam_ensembles.errors import (
    EnsembleError,
    ModelFormatError,
)
from beam_ensembles.files.deadlines import call_within
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.files.fetched_files import Beside, nothing_beside
from beam_ensembles.files.storage import file_systems
from beam_ensembles.files.uris import is_web
from beam_ensembles.files.web_files import open_web

_ASK_SECONDS: Final = 10.0
_SAID_OF_A_FILE: Final = ("etag", "last-modified", "content-length")


def state_of(place: str, beside: Beside = nothing_beside) -> Any:
    """Returns what changes when a file or a folder does, or None where it cannot be looked at.

    Args:
        place: Its absolute path or URI. A web server is asked for what it says of the file; where it says neither ETag
            nor time, only another size is a change.
        beside: Which files of this machine belong to it.
    """
    path = local_path(place)
    if path is not None:
        return [_local_state(one) for one in (path, *_paths_beside(path, beside))]
    return _web_state(place) if is_web(place) else _stored_state(place)


def _paths_beside(path: str, beside: Beside) -> list[str]:
    with contextlib.suppress(ModelFormatError, OSError):
        return [os.path.join(os.path.dirname(path), name) for name in beside(path)]
    return []


def _local_state(path: str) -> Any:
    if os.path.isdir(path):
        names = sorted(os.path.join(folder, name) for folder, _, files in os.walk(path) for name in files)
        return [(name, _local_state(name)) for name in names]
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _web_state(url: str) -> Any:
    import requests

    try:
        with open_web(requests.head, url, _ASK_SECONDS) as answer:
            return [answer.headers.get(name) for name in _SAID_OF_A_FILE]
    except (EnsembleError, requests.RequestException):
        return None


def _stored_state(place: str) -> Any:
    try:
        (found,) = call_within(
            _ASK_SECONDS, functools.partial(file_systems().match, [place]), f"asking for '{place}'"
        )
    except Exception:  # what a file system raises where it cannot be asked, or what is none, is its own
        return None
    return [(file.path, file.size_in_bytes, file.last_updated_in_seconds) for file in found.metadata_list]
