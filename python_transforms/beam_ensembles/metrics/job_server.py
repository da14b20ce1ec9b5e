"""A runner's job server: Prism itself, or the one that Beam puts before Flink. Both answer Beam's JobService."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Final

import grpc
from apache_beam.portability.api import beam_job_api_pb2
from google.protobuf.message import DecodeError

from beam_ensembles.connections import FLAGS, Security
from beam_ensembles.connections.server import Server, one_line
from beam_ensembles.errors import EnsembleError, listed, nearest
from beam_ensembles.handlers.support.protobuf_wire import WireError, fields, spans
from beam_ensembles.metrics.monitoring import of_response
from beam_ensembles.metrics.values import EnsembleMetrics

_SECONDS: Final = 30.0
"""How long a job server may take for an answer; a busy one on a small machine is slow."""
MOST_BYTES: Final = 64 << 20
"""How large the answer of a runner may be."""
_MOST_JOBS: Final = 100_000
_MOST_METRICS: Final = 1_000_000
"""Of an answer. A message of two bytes takes a hundred of memory once it is read."""
_FIELDS: Final = 16
"""Of a job that are read; it has four."""
_SERVICE: Final = "org.apache.beam.model.job_management.v1.JobService"


class NoMetrics(EnsembleError):
    """The metrics of a job are unavailable; the message is one sentence."""


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

    def __enter__(self) -> JobServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()

    def jobs(self) -> tuple[Job, ...]:
        """Returns the jobs that it knows, by id.

        Raises:
            NoMetrics: It does not answer.
        """
        answer = self._ask("GetJobs", beam_job_api_pb2.GetJobsRequest())
        try:
            jobs = list(itertools.islice(_jobs(answer), _MOST_JOBS + 1))
        except (WireError, UnicodeDecodeError) as error:
            raise NoMetrics(f"'{self._endpoint}' answers with jobs that cannot be read") from error
        if len(jobs) > _MOST_JOBS:
            raise NoMetrics(f"'{self._endpoint}' answers with more than {_MOST_JOBS} jobs")
        return tuple(sorted(jobs, key=lambda job: job.id))

    def metrics(self, job: str) -> tuple[EnsembleMetrics, ...]:
        """Returns the metrics of the ensembles of a job.

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
            answer = self._ask("GetJobMetrics", request)
            inner = (span for one in spans(answer, (0, len(answer)), 1) for span in fields(answer, *one))
            if next(itertools.islice(inner, _MOST_METRICS, None), None) is not None:
                raise NoMetrics(f"'{self._endpoint}' answers with more than {_MOST_METRICS} metrics")
            return of_response(beam_job_api_pb2.GetJobMetricsResponse.FromString(answer))
        except (ValueError, DecodeError) as error:
            raise NoMetrics(f"'{self._endpoint}' answers with metrics that cannot be read") from error

    def _ask(self, method: str, request: Any) -> bytes:
        """Calls a method; its answer is left as it came, since reading it may take far more memory than it has."""
        call: Any = self._channel.unary_unary(f"/{_SERVICE}/{method}", request_serializer=_written)
        try:
            answer: bytes = call(request, timeout=_SECONDS, wait_for_ready=False)
            return answer
        except grpc.RpcError as error:
            if refusal := self._server.refusal(error):
                raise refusal from error
            if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                raise NoMetrics(
                    f"'{self._endpoint}' answers, but it is not a job server; give the address of the runner's, "
                    "not that of a service of ensembles"
                ) from error
            text = f"no job server answers at '{self._endpoint}': {error.code().name}: {one_line(error)}"
            raise NoMetrics(text) from error


def _written(request: Any) -> bytes:
    data: bytes = request.SerializeToString()
    return data


def _jobs(answer: bytes) -> Iterator[Job]:
    """Reads a GetJobsResponse: of each JobInfo id 1, name 2 and state 4; its options may be large."""
    states: dict[int, str] = {number: name for name, number in beam_job_api_pb2.JobState.Enum.items()}
    for start, end in spans(answer, (0, len(answer)), 1):
        found = {number: (at, to) for number, at, to in itertools.islice(fields(answer, start, end), _FIELDS)}
        places = (found.get(number, (0, 0)) for number in (1, 2))
        name, title = (answer[at:to].decode() if to > 0 else "" for at, to in places)  # a number has -1 there
        state = found.get(4, (0, -1))[0]
        yield Job(name, title, states.get(state, str(state)))


def no_job(job: str, known: Iterable[str], place: str) -> NoMetrics:
    """Returns the error of a job that a runner does not know.

    Args:
        job: The id that was asked for.
        known: The ids that there are.
        place: Where the runner is.
    """
    ids = list(known)
    return NoMetrics(f"'{place}' knows no job '{job}'{nearest(job, ids)} (it knows: {listed(ids)})")
