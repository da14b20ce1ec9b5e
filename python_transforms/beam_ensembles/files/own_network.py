"""Refuse servers of this machine's own network unless a flag names them."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from beam_ensembles.errors import EnsembleError
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.files.uris import is_public, is_web


def is_in_own_network(host: str) -> bool:
    """Whether a host has an address that is not public, by a lookup of its name."""
    try:
        found = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False  # connecting fails with a better message
    return not all(is_public(ipaddress.ip_address(address)) for address in found)


def refuse_own_network(files: Files, url: str) -> None:
    """Refuse a web address in the own network if ``*`` is all that allows its host.

    Raises:
        EnsembleError: The address is refused.
    """
    if (
        "*" not in files.hosts
        or not is_web(url)
        or files.is_own
        or files.is_trusted(url)
        or files.names_host(url)
    ):
        return
    host = urlsplit(url).hostname or ""
    if is_in_own_network(host):
        text = f"'{url}' is in this machine's own network, which '*' does not cover"
        raise EnsembleError(f"{text}; name it: --allow-host '{host}' (with http:// where it is unencrypted)")
