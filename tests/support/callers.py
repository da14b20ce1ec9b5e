"""Calls a server as users of this machine: ``python -m tests.support.callers USER ADDRESS ...``.

Prints a JSON object for each user and address: what came of each call. The program becomes a user once it has imported
what it needs, since that user may not be able to read the folder of the tests.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import grpc
from apache_beam.portability.api import (
    beam_artifact_api_pb2,
    beam_artifact_api_pb2_grpc,
    beam_expansion_api_pb2,
    beam_expansion_api_pb2_grpc,
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
)
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from tests.support.patience import SECONDS

NOBODY: Final = 65_534


def call_as(users: Sequence[int], *addresses: str) -> list[dict[str, str]]:
    """Calls every kind of service at each address, as each user.

    Args:
        users: Their numbers.
        addresses: ``host:port``, or ``host:port@source`` to call from another address of this machine.

    Returns:
        For each user and each address: of each kind, ``OK``, or the name of gRPC's code and the text.
    """
    command = [sys.executable, "-m", "tests.support.callers", ",".join(map(str, users)), *addresses]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def calls(channel: grpc.Channel, metadata: tuple[tuple[str, str], ...] = ()) -> dict[str, str]:
    """Return what came of one call of each kind through a channel."""
    expansion = beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel)
    artifacts = beam_artifact_api_pb2_grpc.ArtifactRetrievalServiceStub(channel)
    pool = beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(channel)
    reflection: Any = reflection_pb2_grpc.ServerReflectionStub(channel)
    healthy: Any = health_pb2_grpc.HealthStub(channel)
    kinds: Mapping[str, tuple[Callable[..., Any], Any]] = {
        "expand": (expansion.Expand, beam_expansion_api_pb2.ExpansionRequest()),
        "discover": (
            expansion.DiscoverSchemaTransform,
            beam_expansion_api_pb2.DiscoverSchemaTransformRequest(),
        ),
        "resolve": (artifacts.ResolveArtifacts, beam_artifact_api_pb2.ResolveArtifactsRequest()),
        "get": (lambda *given, **named: list(artifacts.GetArtifact(*given, **named)), _no_artifact()),
        "reflect": (
            lambda request, **named: list(reflection.ServerReflectionInfo(iter([request]), **named)),
            reflection_pb2.ServerReflectionRequest(list_services=""),
        ),
        "start": (pool.StartWorker, beam_fn_api_pb2.StartWorkerRequest(worker_id="w")),
        "stop": (pool.StopWorker, beam_fn_api_pb2.StopWorkerRequest(worker_id="w")),
        "health": (healthy.Check, health_pb2.HealthCheckRequest()),
    }
    return {name: _outcome(call, request, metadata) for name, (call, request) in kinds.items()}


def _no_artifact() -> Any:
    return beam_artifact_api_pb2.GetArtifactRequest()


def _outcome(call: Callable[..., Any], request: Any, metadata: tuple[tuple[str, str], ...]) -> str:
    try:
        call(request, metadata=metadata, timeout=SECONDS)
    except grpc.RpcError as error:
        return f"{error.code().name}: {error.details()}"
    return "OK"


def main() -> None:
    """Becomes one user after another, each in a process of its own, and calls."""
    users, *addresses = sys.argv[1:]
    for user in map(int, users.split(",")):
        child = os.fork()
        if child == 0:
            _call_as(user, addresses)
            return
        os.waitpid(child, 0)


def relay(address: str, source: str) -> str:
    """Passes connections on from another address of this machine; returns where to connect to.

    Args:
        address: Where they go to.
        source: The address that they come from.
    """
    host, _, port = address.rpartition(":")
    listening = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            here, _ = listening.accept()
            try:
                there = socket.create_connection((host, int(port)), source_address=(source, 0))
            except OSError:  # the server is gone: so is the connection that asked for it
                here.close()
                continue
            for pair in ((here, there), (there, here)):
                threading.Thread(target=_pass_on, args=pair, daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return f"127.0.0.1:{listening.getsockname()[1]}"


def assert_nobody_called(listening: socket.socket) -> None:
    """Asserts that nobody has connected to a socket from which nobody accepts: such a connection would wait there."""
    ready, _, _ = select.select([listening], [], [], 0)
    assert not ready


def _pass_on(given: socket.socket, taken: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := given.recv(1 << 16):
            taken.sendall(data)
        taken.shutdown(socket.SHUT_WR)


def _call_as(user: int, addresses: list[str]) -> None:
    if user != os.getuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    for address in addresses:
        place, _, source = address.partition("@")
        with grpc.insecure_channel(relay(place, source) if source else place) as channel:
            sys.stdout.write(f"{json.dumps(calls(channel))}\n")


if __name__ == "__main__":
    main()
