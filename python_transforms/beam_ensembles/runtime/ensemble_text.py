"""Where an ensemble's text comes from: inline, a local file, or any file that Beam's FileSystems open."""

from __future__ import annotations

import functools
import os
from typing import Final

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.files.deadlines import TookTooLong, call_within
from beam_ensembles.files.ensemble_files import FileProblem, Files, local_path
from beam_ensembles.files.storage import open_stored
from beam_ensembles.files.uris import canonical
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.spec.load import decoded, read_text

_SECONDS: Final = 20.0
"""How long storage may take to send an ensemble file."""
_MOST_BYTES: Final = 16 << 20


def read_uri(uri: str, files: Files) -> tuple[str, str]:
    """Reads an ensemble file for a client, who sees of it what an error quotes.

    Args:
        uri: An absolute path or URI.
        files: Says which local folders may be read.

    Returns:
        Its text, and the folder that relative URIs in it are relative to.

    Raises:
        InvalidEnsemble: It is missing, cannot be read, is not UTF-8, is too large, lies in no trusted folder of this
            machine, or in storage or on a host that nobody allowed.
    """
    path = check_readable(uri, files)
    if path is None:
        return _read_remote(canonical(uri)), uri.rpartition("/")[0]
    if os.path.getsize(path) > _MOST_BYTES:
        raise InvalidEnsemble([Problem("spec_uri", "unreadable_file", _too_large(uri))])
    return read_text(path), os.path.dirname(path)


def check_readable(uri: str, files: Files) -> str | None:
    """Ensures that a file may be read for a client, and that it can be where it is one of this machine.

    Args:
        uri: An absolute path or URI.
        files: Says which local folders may be read.

    Returns:
        Its path on this machine; None where it lies elsewhere.

    Raises:
        InvalidEnsemble: It is missing, cannot be read, or lies in no trusted folder of this machine.
    """
    path = local_path(uri)
    if path is None:
        _check_remote(uri, files)
        return None
    if not os.path.isabs(path):
        text = f"'{uri}' is relative to nothing that the service knows; give an absolute path or URI"
        raise InvalidEnsemble([Problem("spec_uri", "relative_uri_without_base", text)])
    if not files.is_trusted(path):
        text = f"'{uri}' is not in a folder that this service trusts; send the file's text, or start it with --trust"
        raise InvalidEnsemble([Problem("spec_uri", "untrusted_file", text)])
    try:
        files.check(path)
    except FileProblem as error:
        raise InvalidEnsemble([Problem("spec_uri", error.code, str(error))]) from error
    return path


def check_bundle_readable(uri: str, files: Files) -> None:
    """Ensures of the same for a bundle, but for one outside of trusted folders, which may be trusted for its digest.

    ``open_bundle`` looks at that one.

    Raises:
        InvalidEnsemble: As for any file.
    """
    path = local_path(uri)
    if path is None or not os.path.isabs(path) or files.is_trusted(path):
        check_readable(uri, files)


def _check_remote(uri: str, files: Files) -> None:
    try:
        files.check_place(uri)
    except FileProblem as error:
        raise InvalidEnsemble([Problem("spec_uri", error.code, str(error))]) from error


def _read_remote(uri: str) -> str:
    try:
        content = call_within(_SECONDS, functools.partial(_content, uri), f"reading '{uri}'")
    except Exception as error:
        said = str(error) if isinstance(error, TookTooLong) else f"'{uri}' cannot be read: {text_of(error)}"
        raise InvalidEnsemble([Problem("spec_uri", "unreadable_file", said)]) from error
    if len(content) > _MOST_BYTES:
        raise InvalidEnsemble([Problem("spec_uri", "unreadable_file", _too_large(uri))])
    return decoded(content)


def _too_large(uri: str) -> str:
    return f"'{uri}' is larger than {_MOST_BYTES >> 20} MiB, the most that an ensemble file may have"


def _content(uri: str) -> bytes:
    with open_stored(uri) as file:
        found: bytes = file.read(_MOST_BYTES + 1)
        return found
