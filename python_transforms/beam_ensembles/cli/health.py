"""``beam-ensembles health``: asks a service whether it answers, as an orchestrator does."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, Final

from beam_ensembles.printable import printable
from beam_ensembles_service.settings import DEFAULT_PORT

DESCRIPTION: Final = """\
Ask a service whether it answers: gRPC's health check, for a container's HEALTHCHECK and for scripts.

Prints the answer; the exit code is 0 where it is SERVING, otherwise 1.
"""
_AGAIN_SECONDS: Final = 0.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the verb's arguments to a parser."""
    parser.add_argument(
        "address",
        nargs="?",
        default=os.environ.get("BEAM_ENSEMBLES_ADDR") or f"127.0.0.1:{DEFAULT_PORT}",
        metavar="HOST:PORT",
        help="where the service listens (default: $BEAM_ENSEMBLES_ADDR, here %(default)s)",
    )
    parser.add_argument(
        "--timeout", type=float, default=5.0, metavar="SECONDS", help="how long to wait (%(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """Asks; gives the exit code."""
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with grpc.insecure_channel(args.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        try:
            answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=args.timeout, wait_for_ready=True)
        except grpc.RpcError as error:
            said = _cause(stub, error)
            sys.stderr.write(f"beam-ensembles health: {args.address} does not answer: {printable(said)}\n")
            return 1
    status = health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)
    print(f"{args.address} {status}")
    return 0 if answer.status == health_pb2.HealthCheckResponse.SERVING else 1


def _cause(stub: Any, error: Any) -> str:
    """Says why; one who waits in vain for a connection is told only on asking again without waiting."""
    import grpc
    from grpc_health.v1 import health_pb2

    if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
        try:
            stub.Check(health_pb2.HealthCheckRequest(), timeout=_AGAIN_SECONDS, wait_for_ready=False)
        except grpc.RpcError as again:
            error = again
    return f"{error.code().name}: {' '.join(str(error.details()).split())}"
