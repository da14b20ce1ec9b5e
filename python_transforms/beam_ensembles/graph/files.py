"""Where the files of an ensemble are, whether they may be used, and what is in them."""

from __future__ import annotations

import dataclasses
import fnmatch
import glob
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from beam_ensembles.errors import listed, nearest

_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_PATTERN: Final = re.compile(r"[*?\[]")
_BLOCK: Final = 1 << 20
_WEB: Final = ("http", "https")

UNPACKED: Final = ".unpacked"
"""How the name of a folder ends that a bundle was unpacked to. No file in one is trusted for where it lies: a bundle
that nobody vouches for may be unpacked below a folder that somebody does."""

ANYTHING: Final = ("*",)
"""Allows every importable name, every host or every secret: for somebody who runs a file of his own."""

LIBRARY_CODE: Final = (
    "apache_beam.ml.inference.anthropic_inference.*", "apache_beam.ml.inference.gemini_inference.*",
    "apache_beam.ml.inference.vllm_inference.VLLM*ModelHandler", "keras.applications.*", "torch.nn.*",
    "torchvision.models.*", "transformers.*",
)  # fmt: skip
"""Importable names that a file may use without being trusted: model classes and handlers of known libraries."""


def is_of_library(name: str) -> bool:
    """Whether a dotted name is one of those that need no trust because they are a known library's."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in LIBRARY_CODE)


class FileProblem(Exception):
    """A URI cannot be used; carries the ``code`` of the problem and says why in one line."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


@dataclasses.dataclass(frozen=True, slots=True)
class Bundle:
    """An unpacked bundle: the ensemble file with the files that it names.

    Attributes:
        name: Name of the bundle's file, which is also that of the artifact that workers get.
        digest: SHA-256 of the bundle's file, 64 hexadecimal digits.
        size: Bytes of the bundle's file.
        archive: Where the bundle's file is on the machine that unpacked it.
        root: The folder that it was unpacked to on this machine.
        places: The path below ``root`` of what each URI of the ensemble file names.
        is_trusted: Whether its files may hold code.
    """

    name: str
    digest: str
    size: int
    archive: str
    root: str
    places: Mapping[str, str]
    is_trusted: bool = False

    @property
    def uri(self) -> str:
        """What names the bundle wherever it is: ``bundle:`` and its digest."""
        return f"bundle:{self.digest}"


@dataclasses.dataclass(frozen=True, slots=True)
class Files:
    """Resolves the URIs of one ensemble file, and says what of this and other machines it may use.

    Attributes:
        base_uri: Folder or URI that relative URIs are relative to, or None.
        trusted: Local folders and URI prefixes whose files may hold code (pickles); ``/`` trusts every local file.
        shared: Whether the workers see this machine's files; where not, a local file is refused.
        code: Patterns (``my_team.*``) of the importable names that a file may use.
        hosts: Hosts that workers may read from and call: ``models.example.com``, ``*.example.com``; one with a scheme
            (``http://models.example.com:8080``) allows just that, and only so is unencrypted http allowed.
        secrets: Patterns of the secrets that a file may name: ``env:ACCOUNTS_DB``, ``file:/run/secrets/*``.
        bundle: The unpacked bundle that the ensemble file came in, if it did: it has all local files that it may name.
    """

    base_uri: str | None = None
    trusted: tuple[str, ...] = ()
    shared: bool = True
    code: tuple[str, ...] = LIBRARY_CODE
    hosts: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    bundle: Bundle | None = None

    def for_workers(self) -> Files:
        """Gives what workers need of it: what relative URIs are relative to, and which hosts rows may name."""
        return Files(self.base_uri, hosts=self.hosts, bundle=self.bundle)

    def is_packed(self, uri: str) -> bool:
        """Says whether what a URI of the file names is in its bundle."""
        return self.bundle is not None and uri in self.bundle.places

    def resolve(self, uri: str) -> str:
        """Gives the absolute path or URI of a URI of the file.

        Raises:
            FileProblem: It is relative and there is nothing that it could be relative to, or the workers
            would not
                find it.
        """
        if self.bundle is not None and uri in self.bundle.places:
            return os.path.join(self.bundle.root, self.bundle.places[uri])
        found = uri if _SCHEME.match(uri) or os.path.isabs(uri) else self._join(uri)
        path = local_path(found)
        if path is None:
            return found
        if self.bundle is not None:
            raise FileProblem("not_in_bundle", _not_packed(uri, self.bundle))
        if not self.shared:
            raise FileProblem(
                "local_uri_on_remote_worker",
                f"'{uri}' is a file of this machine, which the workers of this service do not see; send a bundle, "
                "which brings its files along (beam-ensembles pack), put it where they can read it, or use a service "
                "with --serve-loopback-worker",
            )
        return newest_match(path)

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

    def check(self, uri: str, *, folders: bool = False) -> str:
        """Resolves a URI and makes sure that it may be read and, where it is local, that it can be.

        Args:
            uri: As the file has it.
            folders: Whether it may be a folder, as some formats are.

        Returns:
            The absolute place.

        Raises:
            FileProblem: The file is missing or cannot be read, or its host is not allowed.
        """
        found = self.resolve(uri)
        path = local_path(found)
        if path is None:
            if urlsplit(found).scheme.lower() in _WEB:
                self.check_host(found)
            return found
        if not os.path.exists(path) and is_pattern(path):
            raise FileProblem("missing_file", f"no file matches the pattern '{path}'")
        if os.path.isdir(path) and not folders:
            raise FileProblem("unreadable_file", f"'{path}' is a folder, not a file")
        if not os.path.exists(path):
            near = _neighbour(path) if self.is_trusted(path) else ""
            raise FileProblem("missing_file", f"there is no file '{path}'{near}")
        if not os.path.isfile(path) and not os.path.isdir(path):
            raise FileProblem("unreadable_file", f"'{path}' is no regular file")
        if not os.access(path, os.R_OK):
            raise FileProblem("unreadable_file", f"the file '{path}' may not be read by this user")
        return found

    def check_code(self, name: str) -> None:
        """Makes sure that a file may have a name imported.

        Args:
            name: Dotted name of a class or function, such as ``torchvision.models.resnet18``.

        Raises:
            FileProblem: It is no dotted name, or nobody allowed it.
        """
        if not all(part.isidentifier() for part in name.split(".")) or "." not in name:
            text = f"'{name}' is no name that can be imported; it is made like 'package.module.Name'"
            raise FileProblem("bad_name", text)
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in self.code):
            text = f"'{name}' runs code that nothing vouches for (allowed: {listed(self.code)})"
            raise FileProblem(
                "untrusted_code", f"{text}; allow it when starting the service: --allow-code '{name}'"
            )

    def check_host(self, url: str) -> None:
        """Makes sure that workers, or the checks themselves, may connect to the host of a URL.

        Raises:
            FileProblem: The URL names no host, or one that nobody allowed.
        """
        parts = urlsplit(url)
        if not parts.hostname:
            raise FileProblem("bad_value", f"'{url}' names no host")
        origin = f"{parts.scheme.lower()}://{parts.netloc.rpartition('@')[2].lower()}"
        encrypted = parts.scheme.lower() != "http"
        for allowed in self.hosts:
            if allowed in ("*", origin) or (encrypted and fnmatch.fnmatch(parts.hostname, allowed)):
                return
        wanted = parts.hostname if encrypted else origin
        text = f"the host of '{url}' is not among those that may be reached (allowed: {listed(self.hosts)})"
        raise FileProblem(
            "untrusted_host", f"{text}; allow it when starting the service: --allow-host '{wanted}'"
        )

    def check_secret(self, place: str) -> None:
        """Makes sure that a file may name a secret, which a node then sends to a server.

        Args:
            place: ``env:NAME`` or ``file:/absolute/path``.

        Raises:
            FileProblem: Nobody allowed it.
        """
        if not any(fnmatch.fnmatchcase(place, pattern) for pattern in self.secrets):
            text = f"nothing vouches for using the secret '{place}' (allowed: {listed(self.secrets)})"
            raise FileProblem(
                "untrusted_secret", f"{text}; allow it when starting the service: --allow-secret '{place}'"
            )

    def is_trusted(self, uri: str) -> bool:
        """Says whether a resolved URI lies under a trusted place."""
        path = local_path(uri)
        if path is None:
            return any(uri.startswith(f"{place.rstrip('/')}/") for place in self.trusted)
        real = os.path.realpath(path)
        if self.bundle is not None and _is_below(real, os.path.realpath(self.bundle.root)):
            return self.bundle.is_trusted
        if any(part.endswith(UNPACKED) for part in real.split(os.sep)):
            return False
        places = [
            os.path.realpath(found) for place in self.trusted if (found := local_path(place)) is not None
        ]
        return any(_is_below(real, place) for place in places)


def _is_below(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


def _not_packed(uri: str, bundle: Bundle) -> str:
    known = listed(list(bundle.places)) if bundle.places else "no file"
    return (
        f"'{uri}' is not in the bundle '{bundle.name}'{nearest(uri, bundle.places)} (it has: {known}); "
        "pack the ensemble again, with the parameters that it is called with"
    )


def is_pattern(place: str) -> bool:
    """Says whether a place is a pattern of names, such as ``models/line-*.pt``, of which the newest is meant."""
    return _PATTERN.search(place) is not None


def newest_match(path: str) -> str:
    """Gives the local file that was changed last of those that match a pattern; the path itself where none does.

    A file whose own name has such characters is not taken for a pattern. Of files of one time the last name counts.
    """
    if not is_pattern(path) or os.path.exists(path):
        return path
    return max(glob.glob(path), key=lambda found: (os.stat(found).st_mtime_ns, found), default=path)


def local_path(uri: str) -> str | None:
    """Gives the path of a local URI (a plain path or ``file:``), or None where it is not local."""
    if not _SCHEME.match(uri):
        return uri
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else None


def sha256_of(path: str) -> str:
    """Computes the SHA-256 of a local file or folder as 64 hexadecimal digits.

    A folder's is that of the list of its files, in the order of their names' bytes, each a line of its digest, two
    spaces and its path within: what ``find . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum |
    sha256sum`` prints in that folder.
    """
    if not os.path.isdir(path):
        return _sha256_of_file(path)
    found = [
        os.path.relpath(os.path.join(folder, name), path)
        for folder, _, names in os.walk(path)
        for name in names
    ]
    return sha256_of_files(path, found)


def sha256_of_files(folder: str, names: Iterable[str]) -> str:
    """Computes the SHA-256 of some files of a local folder, as that of a folder which holds nothing else."""
    listing = hashlib.sha256()
    for name in sorted(set(names), key=os.fsencode):
        listing.update(
            f"{_sha256_of_file(os.path.join(folder, name))}  ".encode() + os.fsencode(name) + b"\n"
        )
    return listing.hexdigest()


def _sha256_of_file(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _neighbour(path: str) -> str:
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        return f" (nor the folder '{folder}')"
    try:
        return nearest(name, sorted(os.listdir(folder)))
    except OSError:  # a folder that may be entered, but not listed
        return ""
