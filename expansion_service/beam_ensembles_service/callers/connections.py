"""The connections of a server: encryption, keep-alive and age."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any, Final

import grpc

from beam_ensembles_service.callers.flags import Access, check_certificates
from beam_ensembles_service.file_version import version_of
from beam_ensembles_service.listening import CannotListenError, address
from beam_ensembles_service.usage import UsageError

_LOGGER: Final = logging.getLogger(__name__)
_ANSWER_MILLISECONDS: Final = 20_000
_GRACE_MILLISECONDS: Final = 600_000
_HANDSHAKE_MILLISECONDS: Final = 20_000
"""How long a client may take for TLS and its first frame of HTTP/2; gRPC's default is two minutes."""
_MAX_STREAMS: Final = 100
"""Calls at one time on one connection; the client delays further ones."""
_NEVER: Final = 2**31 - 1
"""gRPC's value for "never", in milliseconds."""


def options(access: Access) -> list[tuple[str, int]]:
    """Returns the options of a gRPC server."""
    return [
        ("grpc.so_reuseport", 0),  # otherwise two services share a port, and each client gets either
        ("grpc.max_concurrent_streams", _MAX_STREAMS),
        # gRPC's default lets every call of an unknown caller send 4 MiB that wait unread; without probes it is 64 KiB.
        # A message that is being read still arrives at the speed of the network.
        ("grpc.http2.bdp_probe", 0),
        ("grpc.server_handshake_timeout_ms", _HANDSHAKE_MILLISECONDS),
        ("grpc.keepalive_time_ms", _milliseconds(access.keepalive_seconds)),
        ("grpc.keepalive_timeout_ms", _ANSWER_MILLISECONDS),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.max_connection_idle_ms", _milliseconds(access.idle_seconds)),
        ("grpc.max_connection_age_ms", _milliseconds(access.age_seconds)),
        ("grpc.max_connection_age_grace_ms", _GRACE_MILLISECONDS),
    ]


def listen(server: grpc.Server, host: str, port: int, access: Access) -> int:
    """Listen for a server, with TLS where there are certificates.

    Args:
        server: One that has not started.
        host: Where.
        port: At which port; 0: a free one.
        access: What it asks of callers.

    Returns:
        The port.

    Raises:
        CannotListenError: The address is in use or is none of this machine's.
    """
    place = address(host, port)
    try:
        if access.has_tls:
            return server.add_secure_port(place, _credentials(access))
        return server.add_insecure_port(place)
    except RuntimeError as exc:
        raise CannotListenError(f"cannot listen on {place}") from exc


def _credentials(access: Access) -> grpc.ServerCredentials:
    certificates = _Certificates(access)
    found: grpc.ServerCredentials = grpc.dynamic_ssl_server_credentials(
        certificates.read(), certificates.read_again, bool(access.tls_client_ca)
    )
    return found


class _Certificates:
    """The files of TLS, which may be replaced while the server runs.

    Args:
        access: Names them; they have been checked.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._paths = [path for path in (access.tls_cert, access.tls_key, access.tls_client_ca) if path]
        self._lock = threading.Lock()
        self._versions = self._look()

    def read(self) -> Any:
        """Returns them as gRPC takes them."""
        access = self._access
        pair = (Path(access.tls_key).read_bytes(), Path(access.tls_cert).read_bytes())
        roots = Path(access.tls_client_ca).read_bytes() if access.tls_client_ca else None
        return grpc.ssl_server_certificate_configuration([pair], roots)

    def read_again(self) -> Any:
        """Returns them where they have changed and fit together, for the next connection; otherwise None."""
        with self._lock:
            versions = self._look()
            if versions == self._versions:
                return None
            self._versions = versions
            try:
                check_certificates(self._access)
                found = self.read()
            except (UsageError, OSError) as error:
                _LOGGER.error("%s; the certificate that was read before stays in use", error)
                return None
            _LOGGER.info("read the certificate '%s' again", self._access.tls_cert)
            return found

    def _look(self) -> list[object]:
        return [version_of(path) for path in self._paths]


def _milliseconds(seconds: float) -> int:
    return min(max(1, round(1_000 * seconds)), _NEVER) if seconds else _NEVER
