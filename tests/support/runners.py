"""``python -m tests.support.runners POOL [LISTEN]``: a runner that asks a pool for a worker, and never answers that.

It prints the port where it takes the worker's connection, once the pool has answered.
"""

from __future__ import annotations

import socket
import sys
import threading
from typing import Final

import grpc
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc

MODULE: Final = "tests.support.runners"
WORKER_ID: Final = "w"


def ask(pool: str, control: str) -> str:
    """Asks a pool for a worker; returns its error."""
    request = beam_fn_api_pb2.StartWorkerRequest(worker_id=WORKER_ID)
    request.control_endpoint.url = control
    with grpc.insecure_channel(pool) as channel:
        return str(beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(channel).StartWorker(request).error)


def main() -> None:
    """Runs it until it is ended."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    error = ask(sys.argv[1], f"localhost:{port}")
    sys.stdout.write(f"{error or port}\n")
    sys.stdout.flush()
    threading.Event().wait()


if __name__ == "__main__":
    main()
