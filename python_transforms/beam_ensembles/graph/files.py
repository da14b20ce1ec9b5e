"""Where the files of an ensemble are, whether they may be used, and what is in them."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
from typing import Final
from urllib.parse import unquote, urlsplit

from beam_ensembles.errors import nearest

_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_PATTERN: Final = re.compile(r"[*?\[]")
_BLOCK: Final = 1 << 20


class FileProblem(Exception):
    """A URI cannot be used; carries the ``code`` of the problem and says why in one line."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclasses.dataclass(frozen=True, slots=True)
class Files:
    """Resolves the URIs of one ensemble file and reads what they name.

    Attributes:
        base_uri: Folder or URI that relative URIs are relative to, or None.
        trusted: Local folders and URI prefixes whose files may hold code (pickles); ``/`` trusts every local
        file. shared: Whether the workers see this machine's files; where not, a local file is refused.
    """

    base_uri: str | None = None
    trusted: tuple[str, ...] = ()
    shared: bool = True

    def resolve(self, uri: str) -> str:
        """Gives the absolute path or URI of a URI of the file.

        Raises:
            FileProblem: It is relative and there is nothing that it could be relative to, or the workers
            would not
                find it.
        """
        found = uri if _SCHEME.match(uri) or os.path.isabs(uri) else self._join(uri)
        path = local_path(found)
        if path is None:
            return found
        if not self.shared:
            raise FileProblem(
                "local_uri_on_remote_worker",
                f"'{uri}' is a file of this machine, which the workers of this service do not see; "
                "put it where they can read it, or use a service with --serve-loopback-worker",
            )
        return path

    def _join(self, uri: str) -> str:
        if self.base_uri is None:
            raise FileProblem(
                "relative_uri_without_base",
                f"'{uri}' is relative, but the ensemble came as text without base_uri; "
                "give an absolute path or URI, or pass base_uri",
            )
        if local_path(self.base_uri) is None:
            return f"{self.base_uri.rstrip('/')}/{uri}"
        return os.path.normpath(os.path.join(local_path(self.base_uri) or "", uri))

    def check(self, uri: str) -> str:
        """Resolves a URI and makes sure that a local file can be read; gives the absolute place.

        Raises:
            FileProblem: The file is missing or cannot be read.
        """
        found = self.resolve(uri)
        path = local_path(found)
        if path is None:
            return _check_scheme(found)
        if _PATTERN.search(path) and not os.path.exists(path):
            raise FileProblem(
                "not_built", f"'{uri}' is a pattern; this version reads one file, named in full"
            )
        if os.path.isdir(path):
            raise FileProblem("unreadable_file", f"'{path}' is a folder, not a file")
        if not os.path.exists(path):
            near = _neighbour(path) if self.is_trusted(path) else ""
            raise FileProblem("missing_file", f"there is no file '{path}'{near}")
        if not os.path.isfile(path):
            raise FileProblem("unreadable_file", f"'{path}' is no regular file")
        if not os.access(path, os.R_OK):
            raise FileProblem("unreadable_file", f"the file '{path}' may not be read by this user")
        return found

    def is_trusted(self, uri: str) -> bool:
        """Says whether a resolved URI lies under a trusted place."""
        path = local_path(uri)
        if path is None:
            return any(uri.startswith(f"{place.rstrip('/')}/") for place in self.trusted)
        real = os.path.realpath(path)
        places = [
            os.path.realpath(found) for place in self.trusted if (found := local_path(place)) is not None
        ]
        return any(os.path.commonpath((real, place)) == place for place in places)


def local_path(uri: str) -> str | None:
    """Gives the path of a local URI (a plain path or ``file:``), or None where it is not local."""
    if not _SCHEME.match(uri):
        return uri
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None


def sha256_of(path: str) -> str:
    """Computes the SHA-256 of a local file as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _check_scheme(uri: str) -> str:
    if uri.lower().startswith(("http:", "https:")):
        text = (
            f"'{uri}' cannot be read: workers open files and storage (gs, s3, hdfs, azfs), no web addresses"
        )
        raise FileProblem("unreadable_file", text)
    return uri


def _neighbour(path: str) -> str:
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        return f" (nor the folder '{folder}')"
    try:
        return nearest(name, sorted(os.listdir(folder)))
    except OSError:  # a folder that may be entered, but not listed
        return ""
