"""``beam-ensembles health``: ask a service whether it answers, as an orchestrator does."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, Final

from beam_ensembles.cli import connecting
from beam_ensembles.cli.number_arguments import number
from beam_ensembles.cli.output import say
from beam_ensembles_service.settings import DEFAULT_PORT

if TYPE_CHECKING:
    from beam_ensembles.connections import CannotConnect
    from beam_ensembles.connections.server import Server

DESCRIPTION: Final = """\
Ask a service whether it answers: gRPC's health check, for a container's HEALTHCHECK and for scripts.

Prints the answer. The exit code is 0 if it is SERVING, otherwise 1.
"""
_AGAIN_SECONDS: Final = 0.5
_DEFAULT_ADDRESS: Final = f"127.0.0.1:{DEFAULT_PORT}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments to a parser."""
    parser.add_argument(
        "address",
        nargs="?",
        default=os.environ.get("BEAM_ENSEMBLES_ADDR") or _DEFAULT_ADDRESS,
        metavar="HOST:PORT",
        help=f"ask the service at this address (default: $BEAM_ENSEMBLES_ADDR, otherwise {_DEFAULT_ADDRESS})",
    )
    parser.add_argument(
        "--timeout",
        type=number(0.001, 86_400),
        default=5.0,
        metavar="SECONDS",
        help="wait at most this long (default: %(default)g s)",
    )
    connecting.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Ask, and return the exit code."""
    from beam_ensembles.connections import CannotConnect
    from beam_ensembles.connections.server import Server

    server = Server(args.address, connecting.security_of(args))
    try:
        status = _ask(server, args.timeout)
    except CannotConnect as error:
        say("health", str(error))
        return 1
    print(f"{args.address} {status}")
    return 0 if status == "SERVING" else 1


def _ask(server: Server, seconds: float) -> str:
    """Returns the name of the status.

    Raises:
        CannotConnect: The service does not answer, or refuses this client.
    """
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with server.open(connect_seconds=seconds) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
            answer = _check(stub, server, seconds)
        except grpc.RpcError as error:
            raise server.refusal(error) or _no_answer(stub, server, error) from error
    names = {number: name for name, number in health_pb2.HealthCheckResponse.ServingStatus.items()}
    return names.get(answer.status, str(answer.status))


def _check(stub: Any, server: Server, seconds: float) -> Any:
    """Ask once, and then wait for a server that does not listen yet; never wait for one that requires TLS."""
    import grpc
    from grpc_health.v1 import health_pb2

    request = health_pb2.HealthCheckRequest()
    try:
        return stub.Check(request, timeout=seconds, wait_for_ready=False)
    except grpc.RpcError as error:
        if error.code() != grpc.StatusCode.UNAVAILABLE or server.refusal(error) is not None:
            raise
    return stub.Check(request, timeout=seconds, wait_for_ready=True)


def _no_answer(stub: Any, server: Server, error: Any) -> CannotConnect:
    """Return the reason; gRPC reports why it cannot connect only to a call that does not wait."""
    import grpc
    from grpc_health.v1 import health_pb2

    from beam_ensembles.connections import CannotConnect
    from beam_ensembles.connections.server import one_line

    if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
        try:
            stub.Check(health_pb2.HealthCheckRequest(), timeout=_AGAIN_SECONDS, wait_for_ready=False)
        except grpc.RpcError as again:
            error = again
    reason = one_line(error)
    if reason.endswith("Connection refused"):
        return CannotConnect(
            f"nothing listens at {server.address}; start a service there with 'beam-ensembles serve'"
        )
    return CannotConnect(f"{server.address} does not answer: {error.code().name}: {reason}")
