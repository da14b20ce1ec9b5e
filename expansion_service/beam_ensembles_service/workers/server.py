"""The worker pool as a server of its own, with its health."""

from __future__ import annotations

import argparse
import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

import grpc
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc
from apache_beam.utils.thread_pool_executor import UnboundedThreadPoolExecutor
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from beam_ensembles import __version__
from beam_ensembles_service.callers.connections import listen, options
from beam_ensembles_service.callers.flags import Access
from beam_ensembles_service.callers.listeners import Runner, runner_of
from beam_ensembles_service.callers.users import Callers
from beam_ensembles_service.health_service import Health
from beam_ensembles_service.listening import address
from beam_ensembles_service.requests.admission import Admission
from beam_ensembles_service.settings import Limits
from beam_ensembles_service.signal_end import when_signalled
from beam_ensembles_service.stdin_end import when_stdin_ends
from beam_ensembles_service.workers.environment import worker_environment
from beam_ensembles_service.workers.flags import STOP_RUNNER
from beam_ensembles_service.workers.pool import LostWorker, WorkerPool, start_fork_server
from beam_ensembles_service.workers.state import PoolState
from beam_ensembles_service.workers.supervisor import Supervisor

RUNNER: Final = "runner"
"""The name whose health is that of the runner beside the pool: NOT_SERVING while it hangs on a worker that is gone."""
_LOOK_SECONDS: Final = 0.5
_MOST_MESSAGE_BYTES: Final = 256 << 10
"""Bytes of a request for a worker, which names five addresses."""
_POOL: Final = beam_fn_api_pb2.DESCRIPTOR.services_by_name["BeamFnExternalWorkerPool"].full_name


def serve(args: argparse.Namespace, access: Access) -> None:
    """Serves until a signal, or the end of standard input where that was asked for.

    Prints one line to standard output when requests are answered.

    Args:
        args: Parsed with ``pool.add_arguments``.
        access: Who may call.

    Raises:
        CannotListenError: The address is in use or is none of this machine's.
    """
    ended = threading.Event()
    when_signalled(ended.set)
    healthy = Health()
    for name in ("", _POOL, RUNNER):
        healthy.set(name, health_pb2.HealthCheckResponse.SERVING)
    callers = Callers(access, pools=(_POOL,), message_bytes=_MOST_MESSAGE_BYTES)
    server = grpc.server(
        UnboundedThreadPoolExecutor(),  # type: ignore[arg-type]
        interceptors=[callers, Admission(Limits())],
        options=[*options(access), ("grpc.max_receive_message_length", _MOST_MESSAGE_BYTES)],
    )
    port = listen(server, args.host, args.port, access)
    callers.listen_on(port)
    pool = _pool(args, healthy, lambda peer, control: runner_of(peer, port, control))
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
    health_pb2_grpc.add_HealthServicer_to_server(healthy, server)
    server.start()
    sys.stdout.write(f"beam-ensembles {__version__} workers on {address(args.host, port)}\n")
    sys.stdout.flush()
    if args.stop_with_stdin:
        when_stdin_ends(ended.set)
    ended.wait()
    server.stop(0)
    pool.stop()


def _pool(
    args: argparse.Namespace,
    healthy: health.HealthServicer,
    find_runner: Callable[[str, str], Runner | None],
) -> WorkerPool:
    state = None if args.state is None else PoolState(args.state)

    def say(hangs: bool) -> None:
        states = health_pb2.HealthCheckResponse
        healthy.set(RUNNER, states.NOT_SERVING if hangs else states.SERVING)
        if state is not None:
            state.hangs(hangs)

    on_lost = None
    if args.when_a_worker_dies == STOP_RUNNER:
        on_lost = Supervisor(args.notice_seconds, say).lost
    if state is not None and on_lost is not None:
        _look_after(state, on_lost)
    level = max(logging.getLevelNamesMapping()[args.log_level.upper()], logging.WARNING)
    environment = worker_environment(args.worker_env)
    known = {} if on_lost is None else {"find_runner": find_runner}
    return WorkerPool(
        level,
        boot_program=args.boot,
        on_lost=on_lost,
        notes=state,
        environment=environment,
        max_workers=args.max_workers,
        fork_server=start_fork_server(environment),
        **known,
    )


def _look_after(state: PoolState, on_lost: Callable[[LostWorker], None]) -> None:
    """Treats the workers of the pool before this one as lost."""

    def look(worker: LostWorker) -> None:
        while state.lives(worker):
            time.sleep(_LOOK_SECONDS)
        on_lost(worker)
        state.ended(worker)

    for worker in state.left():
        threading.Thread(target=look, args=(worker,), daemon=True).start()
