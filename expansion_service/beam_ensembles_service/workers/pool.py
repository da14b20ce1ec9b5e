"""Workers on this machine: the pool that a runner asks to start one, each a process of its own.

A worker that crashes, or holds the interpreter's lock in a long computation, never touches the service.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol, TypeAlias

import grpc
from apache_beam.portability.api import beam_fn_api_pb2, beam_fn_api_pb2_grpc

from beam_ensembles.messages.printable import shortened
from beam_ensembles.processes.fork_client import CAN_FORK, ForkedProcess, OwnForkServer, own_environment
from beam_ensembles_service.callers.listeners import Runner
from beam_ensembles_service.workers import boot
from beam_ensembles_service.workers.flags import MAX_WORKERS
from beam_ensembles_service.workers.request import NotStartedError, check_start

_LOGGER: Final = logging.getLogger(__name__)
_STOP_SECONDS: Final = 5.0
_STDERR: Final = 2
_WORKER: Final = "beam_ensembles_service.workers.worker"
_HARNESS: Final = "beam_ensembles_service.workers.harness"
_Process: TypeAlias = subprocess.Popen[bytes] | ForkedProcess


@dataclasses.dataclass(frozen=True, slots=True)
class RunningWorker:
    """A worker that a runner asked for.

    Attributes:
        worker_id: The runner's name for it.
        control: ``host:port`` where its runner waits for workers.
        runner: Its runner; None where whoever asked for it does not listen there itself, so that it may be anybody.
    """

    worker_id: str
    control: str
    runner: Runner | None


@dataclasses.dataclass(frozen=True, slots=True)
class LostWorker(RunningWorker):
    """A worker that failed, or was killed, although its runner had not stopped it.

    Attributes:
        how: How it ended, in words.
    """

    how: str


class Notes(Protocol):
    """Where a pool notes its workers, for the one that comes after it."""

    def started(self, worker: RunningWorker, pid: int) -> None:
        """Notes a worker and its process."""

    def ended(self, worker: RunningWorker) -> None:
        """Forgets a worker that nobody waits for."""


class _NoNotes:
    """Notes of a pool that keeps none."""

    def started(self, worker: RunningWorker, pid: int) -> None:
        """Does nothing."""

    def ended(self, worker: RunningWorker) -> None:
        """Does nothing."""


class WorkerPool(beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolServicer):
    """Starts and stops workers as child processes, for runners on this machine only.

    Args:
        log_level: The workers' log level, as ``logging`` counts it.
        boot_program: The program of each worker of a pipeline that brings files, instead of this project's own:
            Beam's ``boot`` of its containers, which installs them and then starts Python.
        on_lost: Called for each worker that is lost, in that worker's own thread.
        find_runner: Finds the runner that calls, by the peer's name and the control endpoint in its request.
        environment: The workers' environment; None: this process's own.
        max_workers: How many workers there are at most at a time.
        notes: Where workers are noted while there is one who waits for them.
        fork_server: What workers are forked from; it ends with the pool. Without one, each imports Beam itself.
    """

    def __init__(
        self,
        log_level: int = logging.WARNING,
        *,
        boot_program: str | None = None,
        on_lost: Callable[[LostWorker], None] | None = None,
        find_runner: Callable[[str, str], Runner | None] = lambda peer, control: None,
        environment: Mapping[str, str] | None = None,
        max_workers: int = MAX_WORKERS,
        notes: Notes | None = None,
        fork_server: OwnForkServer | None = None,
    ) -> None:
        self._fork_server = fork_server
        self._notes: Notes = notes or _NoNotes()
        self._log_level = log_level
        self._boot_program = boot_program
        self._on_lost = on_lost
        self._find_runner = find_runner
        self._environment = own_environment() if environment is None else environment
        self._max_workers = max_workers
        self._starting = 0
        self._lock = threading.Lock()
        self._workers: dict[str, list[_Process]] = {}
        self._stopped = False

    def StartWorker(
        self, request: beam_fn_api_pb2.StartWorkerRequest, context: grpc.ServicerContext
    ) -> beam_fn_api_pb2.StartWorkerResponse:
        """Starts a worker; does not wait until it has reached the runner."""
        try:
            check_start(request)
            with self._one_more():
                self._start(request, self._find_runner(context.peer(), request.control_endpoint.url))
        except (OSError, NotStartedError) as error:
            _LOGGER.warning("worker '%s' was not started: %s", shortened(request.worker_id), error)
            return beam_fn_api_pb2.StartWorkerResponse(error=str(error))
        return beam_fn_api_pb2.StartWorkerResponse()

    def StopWorker(
        self, request: beam_fn_api_pb2.StopWorkerRequest, context: grpc.ServicerContext
    ) -> beam_fn_api_pb2.StopWorkerResponse:
        """Stops a worker and waits for its end.

        Ids are unique within a runner only. Where two runners use one id, neither's worker is stopped here:
        each ends by itself as soon as its runner closes the connection.
        """
        with self._lock:
            running = self._workers.get(request.worker_id, [])
            # One that has ended by itself is left to who watches it: a runner that lost a worker stops it, too.
            is_asked_to_end = len(running) == 1 and not _has_ended(running[0])
            stopping = self._workers.pop(request.worker_id, []) if is_asked_to_end else []
        _end(stopping)
        return beam_fn_api_pb2.StopWorkerResponse()

    def stop(self) -> None:
        """Stops all workers; none is started from here on."""
        with self._lock:
            self._stopped = True
            workers = [worker for same_id in self._workers.values() for worker in same_id]
            self._workers.clear()
        _end(workers)
        if self._fork_server:
            self._fork_server.stop()

    @contextlib.contextmanager
    def _one_more(self) -> Iterator[None]:
        """Counts a worker that is being started; refuses it where there are too many."""
        with self._lock:
            if sum(map(len, self._workers.values())) + self._starting >= self._max_workers:
                raise NotStartedError(
                    f"there are {self._max_workers} workers already (--max-workers allows more)"
                )
            self._starting += 1
        try:
            yield
        finally:
            with self._lock:
                self._starting -= 1

    def _start(self, request: beam_fn_api_pb2.StartWorkerRequest, runner: Runner | None) -> None:
        program = self._boot_program if self._boot_program and boot.is_needed(request) else None
        self._check_not_stopped()
        environment = self._environment_of(request)
        booting = _spawn(boot.command(program, request), environment) if program else None
        worker = booting or self._fork(request) or self._import(request)
        try:
            with self._lock:
                self._check_not_stopped()
                self._workers.setdefault(request.worker_id, []).append(worker)
        except NotStartedError:
            _end([worker])
            raise
        control = request.control_endpoint.url
        _LOGGER.info("started worker '%s' (process %d) for %s", request.worker_id, worker.pid, control)
        known = RunningWorker(request.worker_id, control, runner)
        threading.Thread(target=self._watch, args=(known, worker, booting), daemon=True).start()

    def _check_not_stopped(self) -> None:
        if self._stopped:
            raise NotStartedError("the service is stopping")

    def _fork(self, request: beam_fn_api_pb2.StartWorkerRequest) -> ForkedProcess | None:
        server = self._fork_server
        if server is None:
            return None
        forked = server.start(_WORKER, _words(request, self._log_level), self._environment_of(request))
        if forked is None:
            _LOGGER.warning("worker '%s' could not be forked: it starts more slowly", request.worker_id)
            self._replace(server)
        return forked

    def _replace(self, server: OwnForkServer) -> None:
        """Starts another fork server for later workers, where one is gone."""
        with self._lock:
            if server.is_gone and self._fork_server is server and not self._stopped:
                self._fork_server = start_fork_server(self._environment)

    def _import(self, request: beam_fn_api_pb2.StartWorkerRequest) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-P", "-m", _WORKER]
        return _spawn([*command, *_words(request, self._log_level)], self._environment_of(request))

    def _environment_of(self, request: beam_fn_api_pb2.StartWorkerRequest) -> dict[str, str]:
        return {**self._environment, "WORKER_ID": request.worker_id}

    def _watch(
        self,
        known: RunningWorker,
        worker: _Process,
        booting: subprocess.Popen[bytes] | None,
    ) -> None:
        """Waits for a worker's end, so that none stays a zombie, and reports one that was not asked for."""
        worker_id = known.worker_id
        self._notes.started(known, worker.pid)
        if booting and boot.lost_python(booting):
            booting.kill()  # it starts another Python, which the runner has no use for
        code = worker.wait()
        with self._lock:
            same_id = self._workers.get(worker_id, [])
            asked_for, stopped = worker not in same_id, self._stopped
            if not asked_for:
                same_id.remove(worker)
            if not same_id:
                self._workers.pop(worker_id, None)
        if code and not asked_for:
            _LOGGER.warning("worker '%s' (process %d) ended with exit code %d", worker_id, worker.pid, code)
            if self._on_lost is not None:
                self._on_lost(LostWorker(known.worker_id, known.control, known.runner, f"exit code {code}"))
        if not stopped:  # one that ends with its pool is still waited for
            self._notes.ended(known)


def start_fork_server(environment: Mapping[str, str] | None = None) -> OwnForkServer | None:
    """Starts what the workers of a pool are forked from; none on systems where that is not safe.

    Args:
        environment: The workers'; None: this process's own.
    """
    return OwnForkServer(_HARNESS, environment=environment) if CAN_FORK else None


def _words(request: beam_fn_api_pb2.StartWorkerRequest, log_level: int) -> list[str]:
    """Returns the arguments of ``worker``."""
    words = ["--control", request.control_endpoint.url]
    if request.logging_endpoint.url:
        words += ["--logging", request.logging_endpoint.url]
    if request.provision_endpoint.url:
        words += ["--provision", request.provision_endpoint.url]
    return [*words, "--log-level", str(log_level)]


def _spawn(command: list[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Starts a process that ends with its standard input."""
    return subprocess.Popen(  # noqa: S603 - the command is this module's own
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=_STDERR,  # standard output is for the service's one line
        start_new_session=True,  # Ctrl-C at a terminal reaches the service, which then stops its workers
    )


def _has_ended(worker: _Process) -> bool:
    """Whether a process has ended, also where one is still waiting for it, when ``Popen.poll`` does not tell."""
    if isinstance(worker, ForkedProcess) or not hasattr(os, "waitid"):  # macOS before Python 3.13
        return worker.poll() is not None
    try:
        return os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _end(workers: list[_Process]) -> None:
    """Asks processes to end, and kills those that have not within a few seconds."""
    for worker in workers:
        worker.terminate()
    for worker in workers:
        try:
            worker.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            worker.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):  # a fork server that hangs does not tell
                worker.wait(_STOP_SECONDS)
        if worker.stdin:
            worker.stdin.close()
