"""What changes when a model's files do: sizes, times, and what a web server says of a file without sending it."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.deadlines import call_within
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.files.remote import Beside, nothing_beside
from beam_ensembles.files.uris import is_web
from beam_ensembles.files.web_files import open_web
from beam_ensembles.handlers.onnx.weights import weight_files
from beam_ensembles.handlers.support.signatures import ModelFormatError

_BESIDE: Final[Mapping[str, Beside]] = {"onnx": weight_files}
"""The kinds of model that may keep a part of it in files beside the one that is named."""
_ASK_SECONDS: Final = 10.0
_SAID_OF_A_FILE: Final = ("etag", "last-modified", "content-length")


def state_of(place: str, target: str = "") -> Any:
    """Gives what changes when a file or a folder does, or None where it cannot be looked at.

    Args:
        place: Its absolute path or URI. A web server is asked for what it says of the file; where it says neither ETag
            nor time, only another size is a change.
        target: The kind of model that it is of, such as ``onnx``.
    """
    path = local_path(place)
    if path is not None:
        return [_local_state(one) for one in (path, *_beside(path, target))]
    return _web_state(place) if is_web(place) else _stored_state(place)


def _beside(path: str, target: str) -> list[str]:
    with contextlib.suppress(ModelFormatError, OSError):
        names = _BESIDE.get(target, nothing_beside)(path)
        return [os.path.join(os.path.dirname(path), name) for name in names]
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
    from apache_beam.io.filesystems import FileSystems

    try:
        (found,) = call_within(
            _ASK_SECONDS, functools.partial(FileSystems.match, [place]), f"asking for '{place}'"
        )
    except Exception:  # what a file system raises where it cannot be asked, or what is none, is its own
        return None
    return [(file.path, file.size_in_bytes, file.last_updated_in_seconds) for file in found.metadata_list]
