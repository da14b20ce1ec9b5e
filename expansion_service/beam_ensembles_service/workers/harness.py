"""Beam's Python harness in a loopback worker. Imports Beam; ``worker`` is what there is before."""

from __future__ import annotations

import logging
import os
from typing import Final

import grpc
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability.api import endpoints_pb2
from apache_beam.runners.worker.log_handler import FnApiLogRecordHandler
from apache_beam.runners.worker.sdk_worker import SdkHarness
from apache_beam.runners.worker.worker_id_interceptor import WorkerIdInterceptor

from beam_ensembles.runtime import worker_setup
from beam_ensembles_service.workers.staged_bundles import fetch_bundles

_LOGGER: Final = logging.getLogger(__name__)
_STATE_CACHE_BYTES: Final = 100 << 20
"""Beam's default (``--max_cache_memory_usage_mb``), which its own worker pool leaves out."""


def run(control: str, provision: str | None, logs: str | None) -> int:
    """Serves a runner until it hangs up.

    Args:
        control: ``host:port`` of the runner's control endpoint.
        provision: Where it says which files it has, if anywhere.
        logs: Of its logging endpoint, if it has one.

    Returns:
        The exit code of the worker: 1 where the runner cannot be reached or is lost.
    """
    worker_id = os.environ["WORKER_ID"]
    # Beam 2.77 looks when it is imported: before this worker was forked.
    WorkerIdInterceptor._worker_id = worker_id
    worker_setup.prepare()
    FileSystems.set_options(PipelineOptions(flags=[]))
    if provision:
        fetch_bundles(provision, worker_id)
    try:
        if logs:
            endpoint = endpoints_pb2.ApiServiceDescriptor(url=logs)
            logging.getLogger().addHandler(FnApiLogRecordHandler(endpoint))
        SdkHarness(control, worker_id=worker_id, state_cache_size=_STATE_CACHE_BYTES).run()
    except (grpc.RpcError, grpc.FutureTimeoutError) as error:
        code = error.code().name if isinstance(error, grpc.Call) else "no answer"
        _LOGGER.warning("lost the runner at %s (%s)", control, code)
        return 1
    return 0
