"""A server that a client calls: its channel, and one sentence where a call is refused."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

import grpc

from beam_ensembles.connections.security import CannotConnect, Security, is_loopback
from beam_ensembles.connections.tls import credentials, speaks_tls, try_tls

_SECONDS: Final = 5.0
_HEADER: Final = "authorization"
_Details = collections.namedtuple(
    "_Details", "method timeout metadata credentials wait_for_ready compression"
)


@dataclasses.dataclass(frozen=True)
class Server:
    """A gRPC server.

    Attributes:
        address: Where it listens: ``host:port``.
        security: How client and server verify each other.
        kind: What it is called in messages.
    """

    address: str
    security: Security
    kind: str = "the service"

    @property
    def name(self) -> str:
        """Names it in messages."""
        return f"{self.kind} at {self.address}"

    def open(
        self, options: Sequence[tuple[str, Any]] = (), connect_seconds: float = _SECONDS
    ) -> grpc.Channel:
        """Opens a channel whose calls carry the token, which is read again for each call.

        Args:
            options: Of gRPC.
            connect_seconds: How long the try of TLS may take.

        Raises:
            CannotConnect: TLS fails, a file is missing or malformed, or the token would travel in plain text.
        """
        self.security.check_token_is_safe(self.address)
        self.security.read_token()
        if is_loopback(self.address):
            options = (*options, ("grpc.enable_http_proxy", 0))
        if self.security.tls:
            try_tls(self.address, self.name, self.security, connect_seconds)
            channel = grpc.secure_channel(self.address, credentials(self.security), options)
        else:
            channel = grpc.insecure_channel(self.address, options)
        if self.security.token_file is None:
            return channel
        return grpc.intercept_channel(channel, _SendToken(self.security))

    def refusal(self, error: grpc.RpcError) -> CannotConnect | None:
        """Returns the error if a call failed because of TLS or the token; None for any other failure."""
        code, security = error.code(), self.security
        if code == grpc.StatusCode.UNAUTHENTICATED:
            return token_refused(self.name, security)
        if code == grpc.StatusCode.PERMISSION_DENIED:
            return CannotConnect(f"{self.name} refuses this program: {one_line(error)}")
        if code == grpc.StatusCode.UNAVAILABLE and not security.tls and speaks_tls(self.address):
            how = f"name the CA that signed its certificate with {security.how_to_set('tls_ca')}"
            return CannotConnect(f"{self.name} requires TLS; {how}")
        return None


def token_refused(name: str, security: Security) -> CannotConnect:
    """Returns the error of a server that requires a token and got none, or another one."""
    if security.token_file is None:
        how = f"name the file that holds it with {security.how_to_set('token_file')}"
        return CannotConnect(f"{name} requires a token; {how}")
    how = "use the one that the server was started with (beam-ensembles serve: --token-file)"
    return CannotConnect(f"{name} refuses the token in {security.token_file}; {how}")


def one_line(error: grpc.RpcError) -> str:
    """Returns what gRPC says of a failed call, on one line."""
    return " ".join(str(error.details()).split())


class _SendToken(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Adds the token to each call."""

    def __init__(self, security: Security) -> None:
        self._security = security

    def intercept_unary_unary(self, call: Callable[..., Any], details: Any, request: Any) -> Any:
        return call(self._with_token(details), request)

    def intercept_unary_stream(self, call: Callable[..., Any], details: Any, request: Any) -> Any:
        return call(self._with_token(details), request)

    def _with_token(self, details: Any) -> Any:
        header = (_HEADER, f"Bearer {self._security.read_token()}")
        return _Details(
            details.method,
            details.timeout,
            [*(details.metadata or ()), header],
            details.credentials,
            details.wait_for_ready,
            details.compression,
        )
