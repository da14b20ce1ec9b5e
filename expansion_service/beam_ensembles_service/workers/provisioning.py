"""What a runner says that a worker is to have."""

from __future__ import annotations

from typing import Any, Final

import grpc
from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc

_ANSWER_SECONDS: Final = 60.0


def provision_info(address: str, worker_id: str) -> Any:
    """Asks a runner which files and options it has for a worker.

    Args:
        address: ``host:port`` of its provision service.
        worker_id: The runner's name for the worker.

    Returns:
        Beam's ``ProvisionInfo``.

    Raises:
        grpc.RpcError: It does not answer.
    """
    with grpc.insecure_channel(address) as channel:
        stub = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        request = beam_provision_api_pb2.GetProvisionInfoRequest()
        metadata = [("worker_id", worker_id)]
        return stub.GetProvisionInfo(request, metadata=metadata, timeout=_ANSWER_SECONDS).info
