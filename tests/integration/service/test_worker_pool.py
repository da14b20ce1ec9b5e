"""Workers as processes of their own, seen from a runner that does nothing but count them."""

from __future__ import annotations

import os
import queue
import signal
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest
from apache_beam.portability.api import (
    beam_expansion_api_pb2_grpc,
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
    endpoints_pb2,
)

from tests.support.expansion_requests import MEAN_OF_TWO, like_go, schema
from tests.support.patience import SECONDS, wait_until
from tests.support.processes import children
from tests.support.service import RunningService, running_service


class Runner(beam_fn_api_pb2_grpc.BeamFnControlServicer, beam_fn_api_pb2_grpc.BeamFnLoggingServicer):
    """Takes workers in; each lives until its id's end is set."""

    def __init__(self) -> None:
        self.arrived: queue.Queue[str] = queue.Queue()
        self.gone: queue.Queue[str] = queue.Queue()
        self.logs: queue.Queue[str] = queue.Queue()
        self._server = grpc.server(futures.ThreadPoolExecutor(16))
        beam_fn_api_pb2_grpc.add_BeamFnControlServicer_to_server(self, self._server)
        beam_fn_api_pb2_grpc.add_BeamFnLoggingServicer_to_server(self, self._server)
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._ask: queue.Queue[beam_fn_api_pb2.InstructionRequest | None] = queue.Queue()
        self.answers: queue.Queue[beam_fn_api_pb2.InstructionResponse] = queue.Queue()
        self._server.start()

    def Control(self, responses: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """Hands out instructions until None comes."""
        worker_id = str(dict(context.invocation_metadata())["worker_id"])
        context.add_callback(lambda: self.gone.put(worker_id))
        self.arrived.put(worker_id)
        while (request := self._ask.get()) is not None:
            yield request
            self.answers.put(next(responses))

    def Logging(self, entries: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        """Collects what workers log."""
        for batch in entries:
            for entry in batch.log_entries:
                self.logs.put(entry.message)
        yield from ()

    def GetProcessBundleDescriptor(self, request: Any, context: grpc.ServicerContext) -> Any:
        """Answers that there is none."""
        context.abort(grpc.StatusCode.NOT_FOUND, "no such descriptor")

    def ask(self, request: beam_fn_api_pb2.InstructionRequest) -> beam_fn_api_pb2.InstructionResponse:
        """Sends an instruction to the worker that listens."""
        self._ask.put(request)
        return self.answers.get(timeout=SECONDS)

    def hang_up(self) -> None:
        """Ends the stream of the worker that listens, as a runner does after a job."""
        self._ask.put(None)

    def stop(self) -> None:
        """Ends."""
        for _ in range(16):
            self._ask.put(None)
        self._server.stop(None).wait()


@pytest.fixture
def runner() -> Iterator[Runner]:
    started = Runner()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def service() -> Iterator[RunningService]:
    with running_service("--serve-loopback-worker") as running:
        yield running


def _pool(channel: grpc.Channel) -> beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub:
    return beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(channel)


def _start(service: RunningService, runner: Runner, worker_id: str) -> None:
    endpoint = endpoints_pb2.ApiServiceDescriptor(url=runner.address)
    request = beam_fn_api_pb2.StartWorkerRequest(
        worker_id=worker_id, control_endpoint=endpoint, logging_endpoint=endpoint
    )
    with grpc.insecure_channel(service.address) as channel:
        answer = _pool(channel).StartWorker(request)
    assert not answer.error
    assert runner.arrived.get(timeout=SECONDS) == worker_id


def _stop(service: RunningService, worker_id: str) -> None:
    with grpc.insecure_channel(service.address) as channel:
        assert not _pool(channel).StopWorker(beam_fn_api_pb2.StopWorkerRequest(worker_id=worker_id)).error


def _workers(service: RunningService) -> list[int]:
    """Returns the children of the process that the service forks workers from."""
    (fork_server,) = children(service.process.pid)
    return children(fork_server)


def _is_gone(pid: int) -> bool:
    return not os.path.exists(f"/proc/{pid}")


def test_a_worker_is_a_process_of_its_own_until_it_is_stopped(
    service: RunningService, runner: Runner
) -> None:
    _start(service, runner, "one")
    (worker,) = _workers(service)
    _stop(service, "one")
    assert runner.gone.get(timeout=SECONDS) == "one"
    assert _is_gone(worker)


def test_a_worker_ends_when_its_runner_hangs_up(service: RunningService, runner: Runner) -> None:
    _start(service, runner, "two")
    runner.hang_up()
    wait_until(lambda: not _workers(service))


def test_two_runners_may_use_one_id(service: RunningService, runner: Runner) -> None:
    other = Runner()
    _start(service, runner, "same")
    _start(service, other, "same")
    _stop(service, "same")
    assert len(_workers(service)) == 2
    other.stop()
    wait_until(lambda: len(_workers(service)) == 1)
    wait_until(lambda: _stop(service, "same") or not _workers(service))  # once the pool knows of it, too


def test_a_worker_that_is_killed_leaves_the_service_as_it_was(
    service: RunningService, runner: Runner
) -> None:
    _start(service, runner, "killed")
    (worker,) = _workers(service)
    os.kill(worker, signal.SIGKILL)
    assert runner.gone.get(timeout=SECONDS) == "killed"
    wait_until(lambda: "worker 'killed'" in service.log and "exit code -9" in service.log)
    with grpc.insecure_channel(service.address) as channel:
        request = like_go({"spec": MEAN_OF_TWO}, schema("rows", a="double", b="double"))
        assert not beam_expansion_api_pb2_grpc.ExpansionServiceStub(channel).Expand(request).error
    _start(service, runner, "next")
    _stop(service, "next")


def test_stopping_a_worker_that_there_is_not_is_no_error(service: RunningService) -> None:
    _stop(service, "never started")


def test_a_worker_without_a_runner_is_refused(service: RunningService) -> None:
    with grpc.insecure_channel(service.address) as channel:
        answer = _pool(channel).StartWorker(beam_fn_api_pb2.StartWorkerRequest(worker_id="w"))
    assert answer.error == "the request names no control endpoint"


@pytest.mark.parametrize(
    ("number", "graceful"), [(signal.SIGTERM, True), (signal.SIGKILL, False)], ids=["stopped", "killed"]
)
def test_no_worker_outlives_the_service(runner: Runner, number: int, graceful: bool) -> None:
    with running_service("--serve-loopback-worker") as running:
        _start(running, runner, "a")
        _start(running, runner, "b")
        workers = _workers(running)
        assert len(workers) == 2
        assert (running.end(number) == 0) == graceful
        wait_until(lambda: all(_is_gone(worker) for worker in workers))


def test_a_worker_is_quiet_and_its_errors_reach_the_runners_log(
    service: RunningService, runner: Runner
) -> None:
    _start(service, runner, "logger")
    request = beam_fn_api_pb2.InstructionRequest(
        instruction_id="i1",
        process_bundle=beam_fn_api_pb2.ProcessBundleRequest(process_bundle_descriptor_id="none such"),
    )
    answer = runner.ask(request)
    assert answer.error
    assert "i1" in runner.logs.get(timeout=SECONDS)
    assert "INFO worker" not in service.log
    _stop(service, "logger")
