"""Servers of this machine and of its own network, which a caller may reach only where somebody named them."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from beam_ensembles.errors import EnsembleError
from beam_ensembles.graph.files import Files
from beam_ensembles.graph.uris import is_web


def is_in_own_network(host: str) -> bool:
    """Whether a host has an address that is not public; its name is looked up."""
    try:
        found = {str(entry[4][0]).partition("%")[0] for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False  # whoever connects will say so
    return not all(ipaddress.ip_address(address).is_global for address in found)


def refuse_own_network(files: Files, url: str) -> None:
    """Refuses a web address whose host is only allowed as any other is, and has an address that is not public.

    Raises:
        EnsembleError: It is one.
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
