"""A real KServe model server, in an environment of its own."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from beam_ensembles.handlers.open_inference.address import parse_address
from beam_ensembles.handlers.open_inference.failures import CallError
from beam_ensembles.handlers.open_inference.metadata import ask
from scripts.environments import locked_environment
from scripts.shell import log_path, stop, tail
from tests.support.patience import wait_until
from tests.support.ports import free_ports


@contextlib.contextmanager
def running_kserve(program: Path, folder: Path, model: str) -> Iterator[str]:
    """Runs a server until the block ends; gives the address that model names follow.

    Args:
        program: Serves models on the ports of gRPC and HTTP that it is called with.
        folder: Where it may write.
        model: One of its models.
    """
    python = locked_environment("kserve") / "bin" / "python"
    grpc_port, http_port = free_ports(2)
    log = log_path("kserve")
    with log.open("wb") as out:
        process = subprocess.Popen(
            [python, program, str(grpc_port), str(http_port)],
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
        )
    address = f"grpc://localhost:{grpc_port}/"
    try:
        wait_until(lambda: _is_ready(address + model) or process.poll() is not None, lambda: tail(log))
        assert process.poll() is None, tail(log)
        yield address
    finally:
        stop(process)


def _is_ready(uri: str) -> bool:
    try:
        ask(parse_address(uri), {}, 1.0)
    except CallError:
        return False
    return True
