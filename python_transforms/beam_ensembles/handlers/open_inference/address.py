"""Where a model is served: ``grpc://HOST:PORT/MODEL``, ``grpcs://`` with TLS, and how a channel to it is opened."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from beam_ensembles.limits import LARGEST_ANSWER

FORM: Final = "grpc://HOST:PORT/MODEL or grpc://HOST:PORT/MODEL/VERSION, with grpcs:// for TLS"
SCHEMES: Final = ("grpc", "grpcs")
CERTIFICATES: Final = ("root_certificates", "private_key", "certificate_chain")
"""The keys of ``config`` that name a file in PEM."""

_LARGEST_MESSAGE: Final = (1 << 31) - 1
CHANNEL_OPTIONS: Final = (
    ("grpc.max_send_message_length", _LARGEST_MESSAGE),
    ("grpc.max_receive_message_length", LARGEST_ANSWER),
    # A server that comes back is found within a second; gRPC by itself waits up to two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)
"""How a worker's channel behaves."""


class AddressError(ValueError):
    """The text is not the address of a model; the message says what is wrong with it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Address:
    """A model on a server.

    Attributes:
        host: The server's name or address; an IPv6 address is in brackets.
        port: Its port.
        model: The model's name there.
        version: The model's version, or empty: the server chooses.
        is_encrypted: Whether the connection is TLS.
    """

    host: str
    port: int
    model: str
    version: str
    is_encrypted: bool

    @property
    def target(self) -> str:
        """What gRPC connects to: always a name or an address, never another of its schemes (``unix:``)."""
        return f"dns:///{self.host}:{self.port}"

    def __str__(self) -> str:
        version = f" version {self.version}" if self.version else ""
        return f"the model '{self.model}'{version} on {self.host}:{self.port}"


def parse_address(uri: str) -> Address:
    """Reads a node's ``uri``.

    Raises:
        AddressError: It is not of the form that ``FORM`` says.
    """
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError as exc:
        raise AddressError(f"'{uri}' is not the address of a model ({exc}): expected {FORM}") from exc
    names = [unquote(name) for name in parts.path.removeprefix("/").split("/")]
    if (
        parts.scheme not in SCHEMES
        or not host
        or not port
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise AddressError(f"'{uri}' is not the address of a model: expected {FORM}")
    if not 1 <= len(names) <= 2 or not all(names):
        raise AddressError(f"'{uri}' names no model: it is {FORM}")
    shown = f"[{host}]" if ":" in host else host
    return Address(shown, port, names[0], names[1] if len(names) == 2 else "", parts.scheme == "grpcs")


def credentials(address: Address, config: Mapping[str, Any]) -> Any:
    """Returns gRPC's credentials for an address, or None where the connection is not encrypted.

    Args:
        address: The model.
        config: The node's ``config``, whose certificate files are read.

    Raises:
        OSError: A certificate file cannot be read.
    """
    import grpc

    if not address.is_encrypted:
        return None
    pems = {key: _read(config[key]) for key in CERTIFICATES if key in config}
    return grpc.ssl_channel_credentials(**pems)


def headers(config: Mapping[str, Any]) -> dict[str, str]:
    """Returns the metadata that every call carries; gRPC has them in small letters."""
    return {name.lower(): value for name, value in (config.get("headers") or {}).items()}


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
