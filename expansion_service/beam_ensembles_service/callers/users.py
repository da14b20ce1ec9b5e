"""Refuse unauthorized callers of a server before it reads anything that they send.

The user that opened a socket identifies a caller on this machine. The server looks it up for every call: a cached
answer could outlive its connection, and another user's process may have the same address next.
"""

from __future__ import annotations

import logging
import os
import pwd
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import grpc
from grpc_health.v1 import health

from beam_ensembles_service.callers.flags import Access
from beam_ensembles_service.callers.received_bytes import DEFAULT_MESSAGE_BYTES, ReceivedBytes
from beam_ensembles_service.callers.tcp_sockets import Endpoint, can_tell, client_sockets, endpoint_of
from beam_ensembles_service.callers.token_file import TokenFile

_LOGGER: Final = logging.getLogger(__name__)
_ROOT: Final = 0
_LOOKS: Final = 3
_LOOK_SECONDS: Final = 0.01
_LOG_SECONDS: Final = 10.0
_AUTHORIZATION: Final = "authorization"


def service_of(details: grpc.HandlerCallDetails) -> str:
    """Returns the full name of the service that a call is for."""
    return str(details.method).lstrip("/").rpartition("/")[0]


class _RefusedError(Exception):
    """A caller may not call.

    Args:
        code: gRPC's.
        text: One sentence for the caller.
    """

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class Callers(grpc.ServerInterceptor):
    """An interceptor that refuses unauthorized calls; anybody may ask for the health.

    Args:
        access: What the server asks of callers.
        pools: Full names of services that start processes, which only allowed users of this machine may call.
        message_bytes: The server's limit of a message.
    """

    def __init__(
        self, access: Access, *, pools: tuple[str, ...] = (), message_bytes: int = DEFAULT_MESSAGE_BYTES
    ) -> None:
        self._token = TokenFile(access.token_file) if access.token_file else None
        self._has_certificates = bool(access.tls_client_ca)
        self._is_open = access.insecure
        self._is_pool_checked = can_tell() or not access.insecure
        self._users = frozenset({_ROOT, os.geteuid(), *access.users})
        self._knows_users = self._token is None and not self._has_certificates and not self._is_open
        self._pools = pools
        self._refusals = _Refusals()
        self._received = ReceivedBytes(message_bytes)
        self._port = 0

    def listen_on(self, port: int) -> None:
        """Set the port of the server."""
        self._port = port
        if can_tell():
            self._received.watch(port)

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        """Return a handler that first checks who calls."""
        handler = continuation(handler_call_details)
        service = service_of(handler_call_details)
        if handler is None:
            return None
        is_health = service == health.SERVICE_NAME
        check = None if is_health else self._check_pool if service in self._pools else self._check
        kind = ("stream" if handler.request_streaming else "unary") + (
            "_stream" if handler.response_streaming else "_unary"
        )
        return handler._replace(**{kind: self._checked(getattr(handler, kind), check)})

    def _checked(
        self, behaviour: Callable[..., Any], check: Callable[[grpc.ServicerContext], None] | None
    ) -> Callable[..., Any]:
        """Returns what first checks who calls; None: anybody may."""

        def call(request: Any, context: grpc.ServicerContext) -> Any:
            if check is None:
                self._received.begin(context, may_send=False)
                return behaviour(request, context)
            try:
                check(context)
            except _RefusedError as refused:
                self._received.begin(context, may_send=False)
                self._refusals.log(context.peer(), refused)
                context.abort(refused.code, str(refused))
            self._received.begin(context, may_send=True)
            return behaviour(request, context)

        return call

    def _check(self, context: grpc.ServicerContext) -> None:
        if self._token is not None:
            self._check_token(context, self._token)
        elif self._knows_users:
            # Whatever address a caller has: one of this machine's other addresses reaches a port of loopback, too.
            self._check_user(context, endpoint_of(context.peer()))

    def _check_token(self, context: grpc.ServicerContext, token: TokenFile) -> None:
        given = dict(context.invocation_metadata()).get(_AUTHORIZATION)
        if given is None:
            text = "this service lets in only callers that send its token: set BEAM_ENSEMBLES_TOKEN_FILE"
            raise _RefusedError(grpc.StatusCode.UNAUTHENTICATED, text)
        if not token.accepts(given):
            text = "the token is not this service's: compare BEAM_ENSEMBLES_TOKEN_FILE with its --token-file"
            raise _RefusedError(grpc.StatusCode.UNAUTHENTICATED, text)

    def _check_pool(self, context: grpc.ServicerContext) -> None:
        """Check a call of the pool: a worker runs whatever its runner sends, so the runner must be on this machine."""
        caller = endpoint_of(context.peer())
        if caller is None or not caller.address.is_loopback:
            text = "the worker pool serves only runners on its own machine"
            raise _RefusedError(grpc.StatusCode.PERMISSION_DENIED, text)
        if self._is_pool_checked:
            self._check_user(context, caller)

    def _check_user(self, context: grpc.ServicerContext, caller: Endpoint | None) -> None:
        users = self._users_of(caller) if caller else set()
        if not users or None in users or not context.is_active():
            text = (
                f"the user that calls from {caller or context.peer()} is unknown: its connection is closed, or in "
                "another network or user namespace"
            )
            raise _RefusedError(grpc.StatusCode.PERMISSION_DENIED, text)
        refused = [user for user in users if user is not None and user not in self._users]
        if refused:
            name = _name(refused[0])
            own = _name(os.geteuid())
            text = f"user {name} may not call: only root and user {own} may (--allow-user adds others)"
            raise _RefusedError(grpc.StatusCode.PERMISSION_DENIED, text)

    def _users_of(self, caller: Endpoint) -> set[int | None]:
        """Returns the users that have the caller's socket open; a read of a changing table may miss a row."""
        for look in range(_LOOKS):
            if look:
                time.sleep(_LOOK_SECONDS)
            found = client_sockets(caller, self._port)
            if found:
                return {one.user for one in found}
        return set()


class _Refusals:
    """Logs refused calls, at most one line in ten seconds, so that refused callers cannot fill the log."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0
        self._unsaid = 0

    def log(self, peer: str, refused: _RefusedError) -> None:
        """Log a call, or count it for the next line."""
        with self._lock:
            if time.monotonic() < self._next:
                self._unsaid += 1
                return
            self._next, unsaid, self._unsaid = time.monotonic() + _LOG_SECONDS, self._unsaid, 0
        more = f" ({unsaid} other calls were refused since the last such line)" if unsaid else ""
        _LOGGER.warning("refused a caller at %s: %s%s", peer, refused, more)


def _name(user: int) -> str:
    try:
        return f"'{pwd.getpwuid(user).pw_name}' ({user})"
    except KeyError:
        return str(user)
