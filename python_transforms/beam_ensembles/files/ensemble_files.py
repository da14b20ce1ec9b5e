"""Where the files of an ensemble are, whether they may be used, and what is in them."""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import os
import re
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from beam_ensembles.errors import listed, nearest
from beam_ensembles.files.local_files import (
    Budget,
    TooMuch,
    fixed_folder,
    is_in,
    is_made_up,
    is_pattern,
    newest_match,
)
from beam_ensembles.files.local_files import sha256_of as sha256_of
from beam_ensembles.files.uris import (
    AmbiguousUri,
    canonical,
    host_name,
    is_below,
    is_local_network,
    is_web,
    join,
    origin,
)

_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_BUNDLE: Final = "bundle:"
_FILE: Final = "file:"
_ANY_HOST: Final = "*"
_FOLDERS_KEPT: Final = 256

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
            They may be read whatever ``hosts`` and ``readable`` say.
        readable: Local folders whose files may be named where their format holds no code. Of a file that lies in
            neither a caller learns nothing, not even whether it is there.
        is_own: Whether whoever asks runs a file of their own, with their own rights: then every local file may be
            named, and servers of this machine and its network may be called where ``hosts`` allows any.
        shared: Whether the workers see this machine's files; where not, a local file is refused.
        code: Patterns (``my_team.*``) of the importable names that a file may use.
        hosts: Hosts that workers may read from and call: ``models.example.com``, ``*.example.com``; one with a scheme
            (``http://models.example.com:8080``) allows just that, and only so is unencrypted http allowed. Storage
            is named by its scheme and bucket: ``gs://models``, ``gs://team-*``. ``*`` allows every public host, but no
            storage, which is read with credentials of ours, and nothing of this machine's own network.
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
    readable: tuple[str, ...] = ()
    is_own: bool = False

    def for_workers(self) -> Files:
        """Returns what workers need of it: the base of relative URIs, and which folders and hosts may be read."""
        return Files(
            self.base_uri,
            self.trusted,
            hosts=self.hosts,
            bundle=self.bundle,
            readable=self.readable,
            is_own=self.is_own,
        )

    def is_packed(self, uri: str) -> bool:
        """Returns whether what a URI of the file names is in its bundle."""
        return self.bundle is not None and uri in self.bundle.places

    def resolve(self, uri: str) -> str:
        """Returns the absolute path or URI of a URI of the file.

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
            return _one_spelling(found)
        if self.bundle is not None:
            raise FileProblem("not_in_bundle", _not_packed(uri, self.bundle))
        if not self.shared:
            raise FileProblem(
                "local_uri_on_remote_worker",
                f"'{uri}' is a file of this machine, which the workers of this service do not see; send a bundle, "
                "which brings its files along (beam-ensembles pack), put it where they can read it, or use a service "
                "with --serve-loopback-worker",
            )
        if not os.path.isabs(path):
            raise FileProblem(
                "bad_value", f"'{uri}' is not a file URI of this machine: file:///absolute/path"
            )
        return self._newest(path)

    def _newest(self, path: str) -> str:
        """Returns the newest match of a pattern; the path itself where there is none, or nothing may be listed.

        A file whose own name has such characters is not taken for a pattern.
        """
        if not is_pattern(path) or not self.may_name(fixed_folder(path)):
            return path
        if self.may_name(path) and os.path.exists(path):
            return path
        try:
            return newest_match(path, Budget(), self.may_name) or path
        except TooMuch as exc:
            raise FileProblem(
                "unreadable_file", f"'{path}': {exc}; name the folder and file more precisely"
            ) from None

    def _join(self, uri: str) -> str:
        if self.base_uri is None:
            raise FileProblem(
                "relative_uri_without_base",
                f"'{uri}' is relative, but the ensemble came as text without base_uri; "
                "give an absolute path or URI, or pass base_uri",
            )
        base = local_path(self.base_uri)
        if base is not None:
            return os.path.normpath(os.path.join(base, uri))
        try:
            return join(self.base_uri, uri)
        except AmbiguousUri as exc:
            raise FileProblem("bad_value", str(exc)) from None

    def check(self, uri: str, *, folders: bool = False) -> str:
        """Resolves a URI and makes sure that it may be read and, where it is local, that it can be.

        Args:
            uri: As the file has it.
            folders: Whether it may be a folder, as some formats are.

        Returns:
            The absolute place.

        Raises:
            FileProblem: The file is missing or cannot be read, or its folder or host is not allowed.
        """
        found = self.resolve(uri)
        path = local_path(found)
        if path is None:
            self.check_place(found)
            return found
        if not self.may_name(path):
            raise FileProblem("untrusted_file", outside(uri))
        if not os.path.exists(path) and is_pattern(path):
            raise FileProblem("missing_file", f"no file matches the pattern '{path}'")
        if os.path.isdir(path) and not folders:
            raise FileProblem("unreadable_file", f"'{path}' is a folder, not a file")
        if not os.path.exists(path):
            near = _neighbour(path) if self.is_trusted(path) else ""
            raise FileProblem("missing_file", f"there is no file '{path}'{near}")
        if is_made_up(path) or not (os.path.isfile(path) or os.path.isdir(path)):
            raise FileProblem("unreadable_file", f"'{path}' is not a regular file")
        if not os.access(path, os.R_OK):
            raise FileProblem("unreadable_file", f"the file '{path}' may not be read by this user")
        return found

    def may_name(self, path: str) -> bool:
        """Whether a caller may name a local file whose format holds no code, and learn what is wrong with it."""
        real = _real(path)
        if real is None:
            return False
        if self.is_own or (self.bundle is not None and is_in(real, _folder(self.bundle.root))):
            return True
        return not _is_unpacked(real) and _is_in_any(real, (*self.trusted, *self.readable))

    def check_code(self, name: str) -> None:
        """Ensures that a file may have a name imported.

        Args:
            name: Dotted name of a class or function, such as ``torchvision.models.resnet18``.

        Raises:
            FileProblem: It is not a dotted name, or nobody allowed it.
        """
        if not all(part.isidentifier() for part in name.split(".")) or "." not in name:
            text = f"'{name}' is not a name that can be imported; expected 'package.module.Name'"
            raise FileProblem("bad_name", text)
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in self.code):
            text = f"'{name}' runs code that no flag allows (allowed: {listed(self.code)})"
            raise FileProblem(
                "untrusted_code", f"{text}; allow it when starting the service: --allow-code '{name}'"
            )

    def check_place(self, uri: str) -> None:
        """Check that a file of the web or of storage may be read.

        Args:
            uri: An absolute URI.

        Raises:
            FileProblem: Nobody allowed its host or bucket, or programs could read the URI differently.
        """
        try:
            canonical(uri)
        except AmbiguousUri as exc:
            raise FileProblem("untrusted_host", str(exc)) from None
        if self.is_trusted(uri):
            return
        if is_web(uri):
            self.check_host(uri)
        else:
            self._check_storage(uri)

    def _check_storage(self, uri: str) -> None:
        if self.is_own and _ANY_HOST in self.hosts:
            return
        bucket = origin(uri)
        if not any(
            "://" in allowed and fnmatch.fnmatchcase(bucket.rstrip("/"), allowed.rstrip("/"))
            for allowed in self.hosts
        ):
            text = f"no flag allows reading '{uri}' with the credentials of this service and its workers"
            how = f"start the service with --allow-host '{bucket}', or with --trust where its files may hold code"
            raise FileProblem("untrusted_host", f"{text} (allowed: {listed(self.hosts)}); {how}")

    def check_host(self, url: str) -> None:
        """Ensures that workers, or the checks themselves, may connect to the host of a URL.

        Raises:
            FileProblem: The URL names no host, or one that nobody allowed.
        """
        scheme, host, server = _server_of(url)
        encrypted = scheme != "http"
        if self.names_host(url):
            return
        if _ANY_HOST in self.hosts:
            if self.is_own or not is_local_network(host):
                return
            text = f"'{url}' is in the service's own network, which '*' does not cover"
            raise FileProblem(
                "untrusted_host", f"{text}; name it: --allow-host '{host if encrypted else server}'"
            )
        text = f"the host of '{url}' is not among those that may be reached (allowed: {listed(self.hosts)})"
        wanted = host if encrypted else server
        raise FileProblem(
            "untrusted_host", f"{text}; allow it when starting the service: --allow-host '{wanted}'"
        )

    def names_host(self, url: str) -> bool:
        """Whether the host of a URL was allowed by more than that every host is.

        Raises:
            FileProblem: The URL names no host.
        """
        scheme, host, server = _server_of(url)
        for allowed in self.hosts:
            if "://" in allowed:
                if _origin_of(allowed) == server:
                    return True
            elif allowed != _ANY_HOST and scheme != "http" and fnmatch.fnmatchcase(host, allowed.lower()):
                return True
        return False

    def check_secret(self, place: str) -> None:
        """Ensures that a file may name a secret, which a node then sends to a server.

        Args:
            place: ``env:NAME`` or ``file:/absolute/path``.

        Raises:
            FileProblem: Nobody allowed it.
        """
        leads_up = os.pardir in place.split("/")  # '*' of a pattern would go along
        if leads_up or not any(fnmatch.fnmatchcase(place, pattern) for pattern in self.secrets):
            text = f"no flag allows the secret '{place}' (allowed: {listed(self.secrets)})"
            raise FileProblem(
                "untrusted_secret", f"{text}; allow it when starting the service: --allow-secret '{place}'"
            )

    def is_trusted(self, uri: str) -> bool:
        """Returns whether a resolved URI lies under a trusted place."""
        path = local_path(uri)
        if path is None:
            return any(is_below(uri, place) for place in self.trusted if local_path(place) is None)
        real = _real(path)
        if real is None:
            return False
        if self.bundle is not None and is_in(real, _folder(self.bundle.root)):
            return self.bundle.is_trusted
        return not _is_unpacked(real) and _is_in_any(real, self.trusted)

    def trusts_bundle(self, digest: str) -> bool:
        """Whether a bundle is trusted for its SHA-256, wherever it lies."""
        return f"{_BUNDLE}{digest}" in self.trusted


def outside(uri: str) -> str:
    """Returns the message for a local file that may not be named; it is the same whether the file is there or not."""
    return (
        f"'{uri}' is not in a folder that this service may read for its callers; put it into one (start with --trust "
        "FOLDER, or --allow-folder FOLDER where files hold no code), or pin a model with 'sha256: <its digest>'"
    )


def _real(path: str) -> str | None:
    """Returns where a path leads; None where no file can have that name."""
    try:
        return os.path.realpath(path) if "\0" not in path else None
    except (OSError, ValueError):
        return None


def _is_unpacked(real: str) -> bool:
    return any(part.endswith(UNPACKED) for part in real.split(os.sep))


def _is_in_any(real: str, places: tuple[str, ...]) -> bool:
    folders = (local_path(place) for place in places)
    return any(is_in(real, _folder(folder)) for folder in folders if folder is not None)


def _folder(path: str) -> str:
    """Returns where an allowed folder leads; looked up at most once a second, since each node asks several times."""
    return _folder_at(path, int(time.monotonic()))


@functools.lru_cache(_FOLDERS_KEPT)
def _folder_at(path: str, _: int) -> str:
    return os.path.realpath(path)


def _one_spelling(uri: str) -> str:
    """Returns the one spelling of a URI, so that what was compared is what is read; ``check`` refuses what has none."""
    if uri[: len(_FILE)].lower() == _FILE:
        raise FileProblem("bad_value", f"'{uri}' is not a file URI of this machine: file:///absolute/path")
    try:
        return canonical(uri)
    except AmbiguousUri:
        return uri


def _server_of(url: str) -> tuple[str, str, str]:
    """Returns scheme, host, and scheme with host and port, of a URL.

    Raises:
        FileProblem: It names no host, or one that programs read differently.
    """
    try:
        if not urlsplit(url).hostname:
            raise FileProblem("bad_value", f"'{url}' names no host")
        return urlsplit(url).scheme.lower(), host_name(url), _origin_of(url)
    except ValueError as exc:
        raise FileProblem("untrusted_host", str(exc)) from None


def _origin_of(url: str) -> str:
    if is_web(url):
        try:
            return origin(url)
        except AmbiguousUri:
            return ""
    parts = urlsplit(url)
    return f"{parts.scheme.lower()}://{parts.netloc.rpartition('@')[2].lower()}"


def _not_packed(uri: str, bundle: Bundle) -> str:
    known = listed(list(bundle.places)) if bundle.places else "no file"
    return (
        f"'{uri}' is not in the bundle '{bundle.name}'{nearest(uri, bundle.places)} (it has: {known}); "
        "pack the ensemble again, with the parameters that it is called with"
    )


def local_path(uri: str) -> str | None:
    """Returns the path of a local URI (a plain path or ``file:``), or None where it is not local."""
    if not _SCHEME.match(uri):
        return uri
    if uri[: len(_FILE)].lower() != _FILE:
        return None
    host, _, path = uri[len(_FILE) :].removeprefix("//").partition("/")
    if uri[len(_FILE) :].startswith("//"):
        return unquote(f"/{path}") if host in ("", "localhost") else None
    return unquote(uri[len(_FILE) :])


def _neighbour(path: str) -> str:
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        return f" (nor the folder '{folder}')"
    try:
        return nearest(name, sorted(os.listdir(folder)))
    except OSError:  # a folder that may be entered, but not listed
        return ""
