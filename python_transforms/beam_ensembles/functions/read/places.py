"""Which places a row may name: rows are strangers, whoever wrote the ensemble file."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import socket
from typing import Final
from urllib.parse import unquote, urlsplit

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.graph.files import ANYTHING, FileProblem, Files, local_path
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.web import is_web

_DOTS: Final = (".", "..")


@dataclasses.dataclass(frozen=True, slots=True)
class Places:
    """The places of one node.

    Attributes:
        under: Absolute folders and URIs, without a slash at the end; a row names what lies below one of them. Where
            there is none, rows name web addresses of the hosts that ``files`` allows.
        files: Which hosts may be reached.
    """

    under: tuple[str, ...]
    files: Files

    @classmethod
    def of(cls, node: CheckedNode) -> Places:
        """Gives the places of a node that was checked, on a worker."""
        found = (node.files.resolve(place) for place in node.spec.options.get("under") or ())
        return cls(tuple(_plain(place) for place in found), node.files)

    def find(self, name: str) -> str:
        """Gives the absolute place that a row names.

        Args:
            name: A path or URI; a relative one is relative to the first of ``under``.

        Raises:
            NodeError: ``untrusted_host`` or ``untrusted_file`` where rows may not name it; ``missing_file`` where it is
                no name at all.
        """
        if not name:
            raise NodeError("missing_file", "the row names no file")
        path = local_path(name)
        if path is not None and not os.path.isabs(path) and self.under:
            name = f"{self.under[0]}/{path}"
            path = local_path(name)
        if path is not None:
            return self._local(path)
        _check_form(name)
        if self.under:
            if not any(_plain(name).startswith(f"{place}/") for place in self.under):
                raise self._outside(name)
        elif is_web(name):
            self._check_host(name)
        else:
            raise self._outside(name)
        return name

    def _local(self, path: str) -> str:
        real = os.path.realpath(path)
        roots = (os.path.realpath(root) for place in self.under if (root := local_path(place)) is not None)
        if not any(os.path.commonpath((real, root)) == root for root in roots):
            raise self._outside(path)
        return real

    def _check_host(self, url: str) -> None:
        try:
            self.files.check_host(url)
        except FileProblem as problem:
            raise NodeError(problem.code, str(problem)) from None
        if not self._is_named(url) and _is_private(urlsplit(url).hostname or ""):
            text = f"'{url}' is in this worker's own network; say on the node that rows may name it: 'under'"
            raise NodeError("untrusted_host", text)

    def _is_named(self, url: str) -> bool:
        """Says whether a host was allowed by more than that every host is."""
        named = dataclasses.replace(self.files, hosts=tuple(set(self.files.hosts) - set(ANYTHING)))
        try:
            named.check_host(url)
        except FileProblem:
            return False
        return True

    def _outside(self, name: str) -> NodeError:
        allowed = listed(self.under) if self.under else "web addresses; 'under' on the node names others"
        return NodeError("untrusted_file", f"rows may not name '{name}' (they may name: {allowed})")


def _plain(uri: str) -> str:
    """Writes a URI's scheme and host in small letters, without a slash at the end."""
    if local_path(uri) is not None:
        return uri.rstrip("/") or "/"
    scheme, rest = uri.split(":", 1)
    host, slash, path = rest.removeprefix("//").partition("/")
    return f"{scheme.lower()}://{host.lower()}{slash}{path}".rstrip("/")


def _check_form(uri: str) -> None:
    """Refuses what libraries read differently, so that what was compared is what is read."""
    try:
        parts = urlsplit(uri)
        steps = unquote(parts.path).split("/")
        is_plain = "://" in uri and "@" not in parts.netloc and (parts.port is None or parts.port > 0)
    except ValueError:
        steps, is_plain = [], False
    if not is_plain or "\\" in uri or " " in uri or not uri.isprintable() or not set(_DOTS).isdisjoint(steps):
        raise NodeError(
            "untrusted_file", f"{uri!r} is no plain URI: no user, no spaces, no backslash, no '..'"
        )


def _is_private(host: str) -> bool:
    """Says whether a host is no public one: a row could otherwise name what only this worker may reach."""
    try:
        found = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False  # whoever connects will say so
    return not all(ipaddress.ip_address(address).is_global for address in found)
