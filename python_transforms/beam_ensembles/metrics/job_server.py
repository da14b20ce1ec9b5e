"""A runner's job server: Prism itself, or the one that Beam puts before Flink. Both answer Beam's JobService."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Final

import grpc
from apache_beam.portability.api import beam_job_api_pb2, beam_job_api_pb2_grpc

from beam_ensembles.connections import FLAGS, Security
from beam_ensembles.connections.server import Server, one_line
from beam_ensembles.errors import EnsembleError, listed, nearest
from beam_ensembles.metrics.monitoring import of_response
from beam_ensembles.metrics.values import EnsembleMetrics

_SECONDS: Final = 30.0
"""How long a job server may take for an answer; a busy one on a small machine is slow."""
MOST_BYTES: Final = 64 << 20
"""How large the answer of a runner may be."""


class NoMetrics(EnsembleError):
    """The metrics of a job cannot be had; the message is one sentence."""


@dataclasses.dataclass(frozen=True, slots=True)
class Job:
    """A job that a runner knows.

    Attributes:
        id: What the runner calls it.
        name: What its pipeline calls it.
        state: ``RUNNING``, ``DONE``, ``FINISHED`` ... in the runner's words.
    """

    id: str
    name: str
    state: str


class JobServer:
    """The job server at an address; a context manager that closes the connection.

    Args:
        endpoint: ``host:port``, as pipelines are given it (``--job_endpoint``).
        security: Of the connection; None: neither TLS nor a token.

    Raises:
        CannotConnect: TLS fails, or a file that it needs is missing or malformed.
    """

    def __init__(self, endpoint: str, security: Security | None = None) -> None:
        self._endpoint = endpoint
        self._server = Server(endpoint, security or Security(FLAGS), "the job server")
        self._channel = self._server.open([("grpc.max_receive_message_length", MOST_BYTES)])
        self._stub = beam_job_api_pb2_grpc.JobServiceStub(self._channel)

    def __enter__(self) -> JobServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()

    def jobs(self) -> tuple[Job, ...]:
        """Gives the jobs that it knows, by id.

        Raises:
            NoMetrics: It does not answer.
        """
        found = self._ask(self._stub.GetJobs, beam_job_api_pb2.GetJobsRequest()).job_info
        states = {number: name for name, number in beam_job_api_pb2.JobState.Enum.items()}
        jobs = (Job(job.job_id, job.job_name, states.get(job.state, str(job.state))) for job in found)
        return tuple(sorted(jobs, key=lambda job: job.id))

    def metrics(self, job: str) -> tuple[EnsembleMetrics, ...]:
        """Gives the metrics of the ensembles of a job.

        Prism counts what has been committed so far while the job runs; Flink's job server has nothing before it has
        ended.

        Args:
            job: The job's id.

        Raises:
            NoMetrics: It does not answer, or knows no such job.
        """
        known = [one.id for one in self.jobs()]
        if job not in known:
            raise no_job(job, known, self._endpoint)
        request = beam_job_api_pb2.GetJobMetricsRequest(job_id=job)
        try:
            return of_response(self._ask(self._stub.GetJobMetrics, request))
        except ValueError as error:
            raise NoMetrics(f"'{self._endpoint}' answers with metrics that cannot be read") from error

    def _ask(self, call: Any, request: Any) -> Any:
        try:
            return call(request, timeout=_SECONDS, wait_for_ready=False)
        except grpc.RpcError as error:
            if refusal := self._server.refusal(error):
                raise refusal from error
            if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                raise NoMetrics(
                    f"'{self._endpoint}' answers, but it is no job server; give the address of the runner's, "
                    "not that of a service of ensembles"
                ) from error
            text = f"no job server answers at '{self._endpoint}': {error.code().name}: {one_line(error)}"
            raise NoMetrics(text) from error


def no_job(job: str, known: Iterable[str], place: str) -> NoMetrics:
    """Gives the error of a job that a runner does not know.

    Args:
        job: The id that was asked for.
        known: The ids that there are.
        place: Where the runner is.
    """
    ids = list(known)
    return NoMetrics(f"'{place}' knows no job '{job}'{nearest(job, ids)} (it knows: {listed(ids)})")
