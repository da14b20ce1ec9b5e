"""The settings of a connection: the files of TLS and of the token, and where each of them was set."""

from __future__ import annotations

import dataclasses
import ipaddress
import os
import re
import stat
from collections.abc import Mapping
from typing import Final

from beam_ensembles.errors import EnsembleError

VARIABLES: Final = {
    "tls_ca": "BEAM_ENSEMBLES_TLS_CA",
    "tls_cert": "BEAM_ENSEMBLES_TLS_CERT",
    "tls_key": "BEAM_ENSEMBLES_TLS_KEY",
    "token_file": "BEAM_ENSEMBLES_TOKEN_FILE",
}
"""The environment variable of each setting, used if the caller does not set it."""

ARGUMENTS: Final = {name: name for name in VARIABLES}
"""What a setting is called in Python."""

FLAGS: Final = {name: "--" + name.replace("_", "-") for name in VARIABLES}
"""What a setting is called on the command line."""

SYSTEM_CA: Final = "system"
"""Stands for the certificate authorities of this machine instead of a file."""

ADDRESS: Final = re.compile(r"(?:\[(?P<literal>[^\]]+)\]|(?P<name>[^:\[\]/]+)):(?P<port>[0-9]{1,5})")
"""An address of the form ``host:port``."""

_LONGEST_FILE: Final = 1 << 20
_TOKEN: Final = re.compile(r"[!-~]+", re.ASCII)
_LOCAL_NAME: Final = "localhost"


class CannotConnect(EnsembleError):
    """A server cannot be reached, or client or server refuses the other; the message is one sentence."""


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """A file, and the argument, flag or variable that names it."""

    path: str
    source: str

    def read(self) -> bytes:
        """Returns the bytes of the file.

        Raises:
            CannotConnect: The file cannot be read.
        """
        try:
            if stat.S_ISFIFO(os.stat(self.path).st_mode):  # which would be waited for
                raise CannotConnect(f"{self} cannot be read: it is not a regular file")
            with open(self.path, "rb") as file:
                return file.read(_LONGEST_FILE)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise CannotConnect(
                f"{self} cannot be read: {why}; correct the path or the file's permissions"
            ) from error

    def __str__(self) -> str:
        return f"the file '{self.path}' of {self.source}"


@dataclasses.dataclass(frozen=True)
class Security:
    """How a client identifies itself and verifies the server.

    Attributes:
        words: What the caller calls each setting: ``ARGUMENTS`` or ``FLAGS``.
        tls_ca: The certificate authorities, in PEM, or ``SYSTEM_CA``.
        tls_cert: The client's certificate, in PEM.
        tls_key: The private key of ``tls_cert``, in PEM.
        token_file: The file that holds the token.
    """

    words: Mapping[str, str]
    tls_ca: Setting | None = None
    tls_cert: Setting | None = None
    tls_key: Setting | None = None
    token_file: Setting | None = None

    @classmethod
    def of(cls, given: Mapping[str, str | None], words: Mapping[str, str]) -> Security:
        """Takes each setting from the caller, else from its environment variable.

        Args:
            given: Paths by the names in ``ARGUMENTS``. None: the environment variable counts. Empty: the setting is
                off whatever the environment says.
            words: ``ARGUMENTS`` or ``FLAGS``.
        """
        settings: dict[str, Setting] = {}
        for name, variable in VARIABLES.items():
            path, source = given.get(name), words[name]
            if path is None:
                path, source = os.environ.get(variable, ""), variable
            if path:
                settings[name] = Setting(path, source)
        return cls(words, **settings)

    @property
    def tls(self) -> str:
        """The setting that turns TLS on; empty if none does."""
        return next((one.source for one in (self.tls_ca, self.tls_cert, self.tls_key) if one), "")

    def how_to_set(self, name: str) -> str:
        """Names the two places of a setting: the caller's word and the environment variable."""
        return f"{self.words[name]} or {VARIABLES[name]}"

    def check_token_is_safe(self, address: str) -> None:
        """Refuse to send the token where others could read it.

        Raises:
            CannotConnect: The token would leave this machine without TLS.
        """
        if self.token_file is not None and not self.tls and not is_loopback(address):
            raise CannotConnect(
                f"the token of {self.token_file.source} is not sent to {address} without TLS, because others could "
                f"read it; set {self.how_to_set('tls_ca')}, or use a loopback address"
            )

    def read_token(self) -> str | None:
        """Returns the token; None where none is sent.

        Raises:
            CannotConnect: The file cannot be read or holds no token.
        """
        if self.token_file is None:
            return None
        token = self.token_file.read().decode("latin-1").rstrip("\r\n")
        if not token:
            raise CannotConnect(f"{self.token_file} is empty; write the token into it")
        if not _TOKEN.fullmatch(token):
            raise CannotConnect(
                f"{self.token_file} holds no token; a token is one line of visible ASCII characters without spaces"
            )
        return token


def is_loopback(address: str) -> bool:
    """Whether an address, ``host:port`` or ``unix:path``, is certain not to leave this machine."""
    if address.startswith("unix:"):
        return True
    parts = ADDRESS.fullmatch(address)
    host = "" if parts is None else parts["literal"] or parts["name"]
    if host.lower() == _LOCAL_NAME:
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback
