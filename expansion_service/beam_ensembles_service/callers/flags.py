"""The flags that say who may call a server of this package. Cheap to import."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import pwd
import socket
import ssl
from ipaddress import ip_address
from typing import Final

from beam_ensembles_service.callers.tcp_sockets import can_tell
from beam_ensembles_service.usage import UsageError

_LOGGER: Final = logging.getLogger(__name__)
KEEPALIVE_SECONDS: Final = 60.0
IDLE_SECONDS: Final = 1_800.0
AGE_SECONDS: Final = 14_400.0
_MOST_DIGITS: Final = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """What a server asks of its callers.

    Attributes:
        tls_cert: PEM file of the server's certificate, and those between it and its root.
        tls_key: PEM file of its key.
        tls_client_ca: PEM file of the roots of clients' certificates; empty: clients need none.
        token_file: File of the token that callers must send; empty: none.
        insecure: Whether the server lets in callers that it cannot identify.
        users: Local users that may call, beside root and the server's own.
        keepalive_seconds: After how much silence the server asks whether a client is still there.
        idle_seconds: After how long the server closes a connection without calls.
        age_seconds: At which age the server closes any connection, once its calls have ended.
    """

    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    token_file: str = ""
    insecure: bool = False
    users: tuple[int, ...] = ()
    keepalive_seconds: float = KEEPALIVE_SECONDS
    idle_seconds: float = IDLE_SECONDS
    age_seconds: float = AGE_SECONDS

    @property
    def has_tls(self) -> bool:
        """Whether connections are encrypted."""
        return bool(self.tls_cert)

    @property
    def knows_callers(self) -> bool:
        """Whether callers prove who they are, on any machine."""
        return bool(self.tls_client_ca or self.token_file)


def add_access_arguments(parser: argparse.ArgumentParser, *, token: bool) -> None:
    """Adds the flags to a parser.

    Args:
        parser: The parser of a program.
        token: Whether its callers can send a token, which Beam's runners cannot.
    """
    text = "who may call, by default root and the own user, from this machine; see docs/deploy/security.md"
    group = parser.add_argument_group("access", text)
    group.add_argument(
        "--tls-cert", default="", metavar="FILE", help="use TLS with the certificate in this PEM file"
    )
    group.add_argument(
        "--tls-key", default="", metavar="FILE", help="read the private key of --tls-cert from this PEM file"
    )
    group.add_argument(
        "--tls-client-ca",
        default="",
        metavar="FILE",
        help="let in only clients with a certificate that the roots in this PEM file signed",
    )
    if token:
        group.add_argument(
            "--token-file",
            default="",
            metavar="FILE",
            help="let in only callers that send the token in this file, as 'authorization: Bearer TOKEN'",
        )
    group.add_argument(
        "--insecure",
        action="store_true",
        help="let in whoever reaches the port, also from the network and without TLS; on Linux, still start workers "
        "only for allowed users of this machine",
    )
    group.add_argument(
        "--allow-user",
        action="append",
        default=[],
        metavar="NAME",
        help="let in this user of this machine, by name or number, besides root and the own user (may be repeated)",
    )
    group = parser.add_argument_group("connections", "when the server closes them")
    for name, default, text in _TIMES:
        help_text = f"{text} (default: %(default)g s; 0: never)"
        group.add_argument(f"--{name}", type=float, default=default, metavar="S", help=help_text)


_TIMES: Final = (
    ("keepalive-seconds", KEEPALIVE_SECONDS, "ask a client after this silence whether it is still there"),
    ("max-connection-idle-seconds", IDLE_SECONDS, "close a connection after this time without a call"),
    (
        "max-connection-age-seconds",
        AGE_SECONDS,
        "close any connection at this age, once its calls have ended",
    ),
)


def access_of(args: argparse.Namespace) -> Access:
    """Returns what parsed flags ask of callers.

    Raises:
        UsageError: The flags contradict each other, or name unusable files.
    """
    access = Access(
        tls_cert=args.tls_cert,
        tls_key=args.tls_key,
        tls_client_ca=args.tls_client_ca,
        token_file=getattr(args, "token_file", ""),
        insecure=args.insecure,
        users=tuple(_user(name) for name in args.allow_user),
        keepalive_seconds=args.keepalive_seconds,
        idle_seconds=args.max_connection_idle_seconds,
        age_seconds=args.max_connection_age_seconds,
    )
    _check_tls(access)
    for name, _, _ in _TIMES:
        seconds = getattr(args, name.replace("-", "_"))
        if not 0 <= seconds <= 10_000_000:
            raise UsageError(f"--{name} must be from 0 to 10000000, not {seconds:g}")
    return access


def check_host(host: str, access: Access, *, has_pool: bool) -> None:
    """Check that a server that listens on a host can identify its callers, or has ``--insecure``.

    Args:
        host: Where the server listens.
        access: What it asks of callers.
        has_pool: Whether it starts workers for runners of this machine, which send no token.

    Raises:
        UsageError: The server would serve unknown callers.
    """
    if access.insecure:
        return
    if not is_loopback(host):
        if not access.has_tls:
            what = "TLS (--tls-cert, --tls-key)"
        elif not access.knows_callers:
            what = "a proof of who calls (--tls-client-ca or --token-file)"
        else:
            return
        raise UsageError(
            f"--host {host} is open to the network: add {what}, or --insecure to let in everybody"
        )
    if not can_tell() and (has_pool or not access.knows_callers):
        what = "--insecure" if has_pool else "--token-file, or --insecure"
        text = (
            f"this system does not tell which user connects: add {what} to let in every user of this machine"
        )
        raise UsageError(text)


def warn_of_unknown_callers(host: str, access: Access) -> None:
    """Log a warning if a server lets in callers that it cannot identify, or does not encrypt their calls."""
    if not is_loopback(host) and not access.has_tls:
        _LOGGER.warning("listening on %s without TLS: the network can read and change calls", host)
    if access.insecure and not access.knows_callers:
        _LOGGER.warning("listening on %s: whoever reaches the port may call (--insecure)", host)
    if access.insecure and not can_tell():
        _LOGGER.warning(
            "this system does not tell which user connects: any user of this machine gets workers"
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to one of its addresses."""
    try:
        found = {str(place[0]) for *_, place in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):  # a name that is longer than names are
        return False
    return all(ip_address(one.partition("%")[0]).is_loopback for one in found)


def check_certificates(access: Access) -> None:
    """Check that the TLS files are usable.

    Raises:
        UsageError: A file cannot be read, or does not match the others.
    """
    for flag, path in (
        ("cert", access.tls_cert),
        ("key", access.tls_key),
        ("client-ca", access.tls_client_ca),
    ):
        if path and not os.access(path, os.R_OK):
            raise UsageError(f"--tls-{flag}: '{path}' is missing or cannot be read")
        if path and not os.path.isfile(path):  # a pipe would be waited for
            raise UsageError(f"--tls-{flag}: '{path}' is not a regular file")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(access.tls_cert, access.tls_key, password="")
    except (OSError, ValueError) as exc:
        text = "must be PEM files of a certificate and its own unencrypted key"
        raise UsageError(f"--tls-cert '{access.tls_cert}' and --tls-key '{access.tls_key}' {text}") from exc
    if access.tls_client_ca:
        try:
            context.load_verify_locations(access.tls_client_ca)
        except (OSError, ValueError) as exc:
            raise UsageError(
                f"--tls-client-ca '{access.tls_client_ca}' must be a PEM file of certificates"
            ) from exc


def _check_tls(access: Access) -> None:
    if bool(access.tls_cert) != bool(access.tls_key):
        raise UsageError("--tls-cert and --tls-key must be given together")
    if access.tls_client_ca and not access.tls_cert:
        raise UsageError("--tls-client-ca needs --tls-cert and --tls-key")
    if access.has_tls:
        check_certificates(access)


def _user(name: str) -> int:
    if name.isascii() and name.isdigit() and len(name) <= _MOST_DIGITS:
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError as exc:
        raise UsageError(
            f"--allow-user: this machine has no user '{name}'; a number is also accepted"
        ) from exc
