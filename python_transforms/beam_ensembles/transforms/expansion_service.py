"""A service with TLS or a token for Beam's own ``ExternalTransform``, which knows neither.

Written for Beam 2.77, whose ``ExternalTransform`` takes an address, to which it connects without TLS, or a context
manager that gives a stub.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Final

import grpc
from apache_beam.transforms.external import ExpansionAndArtifactRetrievalStub

from beam_ensembles.connections import ARGUMENTS, CannotConnect, Security
from beam_ensembles.connections.server import Server, one_line

_ASKING: Final = ("DiscoverSchemaTransform", "Expand")
_SECONDS: Final = 5.0
_MOST_BYTES: Final = 64 << 20
"""Bytes of an answer, which a client holds as a whole; those of Go and Java take no more either."""
_LIMITS: Final = [
    ("grpc.max_receive_message_length", _MOST_BYTES),
    ("grpc.max_send_message_length", -1),
]

Path = str | os.PathLike[str]


class ExpansionService:
    """A service with TLS or a token, which Beam's ``ExternalTransform`` and ``ExternalTransformProvider`` take.

    Pass it instead of the address. Bundles are fetched over the same connection. The files of TLS are read again for
    each connection, the token for each call:

        service = ExpansionService("models.example.com:8097", tls_ca="ca.pem", token_file="token")
        provider = ExternalTransformProvider(service, urn_pattern=...)

    Args:
        address: ``host:port``.
        tls_ca: The CA certificates that are trusted, in PEM; "system" trusts those of this machine.
        tls_cert: The client certificate, in PEM, for a service that requires one.
        tls_key: The private key of ``tls_cert``, in PEM and not encrypted.
        token_file: The file that holds the token, which is sent only over TLS or to a loopback address.

    Where an argument is None, its environment variable names the file: ``BEAM_ENSEMBLES_TLS_CA``,
    ``BEAM_ENSEMBLES_TLS_CERT``, ``BEAM_ENSEMBLES_TLS_KEY`` or ``BEAM_ENSEMBLES_TOKEN_FILE``. An empty argument turns
    the setting off.

    Raises:
        CannotConnect: The service does not answer, or refuses this client; here, in ``Expand`` and in discovery.
    """

    def __init__(
        self,
        address: str,
        *,
        tls_ca: Path | None = None,
        tls_cert: Path | None = None,
        tls_key: Path | None = None,
        token_file: Path | None = None,
    ) -> None:
        files = {"tls_ca": tls_ca, "tls_cert": tls_cert, "tls_key": tls_key, "token_file": token_file}
        given = {name: None if file is None else os.fspath(file) for name, file in files.items()}
        self._server = Server(address, Security.of(given, ARGUMENTS))
        self._channels: list[grpc.Channel] = []
        # Beam's provider logs a traceback where discovery fails, and goes on without any transform.
        with self._server.open(_LIMITS) as channel:
            self._check(channel)

    def _check(self, channel: grpc.Channel) -> None:
        from grpc_health.v1 import health_pb2, health_pb2_grpc

        stub: Any = health_pb2_grpc.HealthStub(channel)
        with _in_one_sentence(self._server):
            stub.Check(health_pb2.HealthCheckRequest(), timeout=_SECONDS)

    def __enter__(self) -> _Stub:
        self._channels.append(self._server.open(_LIMITS))
        return _Stub(self._channels[-1], self._server)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channels.pop().close()


class _Stub(ExpansionAndArtifactRetrievalStub):
    """Beam's stub, whose failures are one sentence."""

    def __init__(self, channel: grpc.Channel, server: Server) -> None:
        super().__init__(channel)  # type: ignore[no-untyped-call]
        for method in _ASKING:
            setattr(self, method, _asking(getattr(self, method), server))


def _asking(call: Any, server: Server) -> Any:
    def ask(request: Any, **options: Any) -> Any:
        with _in_one_sentence(server):
            return call(request, **options)

    return ask


@contextlib.contextmanager
def _in_one_sentence(server: Server) -> Iterator[None]:
    try:
        yield
    except grpc.RpcError as error:
        code = error.code().name
        failure = server.refusal(error)
        raise failure or CannotConnect(f"{server.name} does not answer: {code}: {one_line(error)}") from None
