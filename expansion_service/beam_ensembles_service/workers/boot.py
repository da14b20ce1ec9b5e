"""Workers that Beam's ``boot`` starts: the program of its containers that fetches a pipeline's files first."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Final

import grpc
from apache_beam.portability.api import beam_fn_api_pb2

from beam_ensembles_service.workers.provisioning import provision_info

_HARNESS: Final = b"sdk_worker"
"""In the command line of the Python that ``boot`` starts, and not in that of its installers."""
_LOOK_SECONDS: Final = 0.5


def command(program: str, request: beam_fn_api_pb2.StartWorkerRequest) -> list[str]:
    """Returns the command of a worker, as Beam's contract for containers says."""
    return [
        program,
        f"--id={request.worker_id}",
        f"--logging_endpoint={request.logging_endpoint.url}",
        f"--artifact_endpoint={request.artifact_endpoint.url}",
        f"--provision_endpoint={request.provision_endpoint.url}",
        f"--control_endpoint={request.control_endpoint.url}",
    ]


def is_needed(request: beam_fn_api_pb2.StartWorkerRequest) -> bool:
    """Returns whether there is anything to fetch for a worker, which is what ``boot`` is for.

    Where there is nothing, ``boot`` of Beam 2.77 may fail: where the pipeline has files of another environment, such as
    a Go program, it asks for them in a way that the Flink runner of Beam 2.62 does not know any more.
    """
    if not request.provision_endpoint.url:
        return True
    try:
        return bool(provision_info(request.provision_endpoint.url, request.worker_id).dependencies)
    except grpc.RpcError:
        return True


def lost_python(boot: subprocess.Popen[bytes]) -> bool:
    """Waits for the end of ``boot`` or of the Python that it started.

    ``boot`` starts another Python where one crashes. A runner that sends rows to the first one does not notice.

    Returns:
        Whether the Python is gone and ``boot`` goes on. Never where there is no ``/proc``.
    """
    seen: set[int] = set()
    while boot.poll() is None:
        running = _pythons(boot.pid)
        if seen - running:
            return not _ends(boot)
        seen |= running
        time.sleep(_LOOK_SECONDS)
    return False


def _ends(boot: subprocess.Popen[bytes]) -> bool:
    """Whether ``boot`` ends too, as it does a moment after a Python that ended as it should."""
    try:
        boot.wait(4 * _LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _pythons(parent: int) -> set[int]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            own_parent = int((process / "stat").read_bytes().rpartition(b")")[2].split()[1])
            if own_parent == parent and _HARNESS in (process / "cmdline").read_bytes():
                found.add(int(process.name))
        except OSError:  # it has ended since it was listed
            continue
    return found
