"""A Flink cluster's REST API, which has the metrics of a job's steps when they have ended.

Beam's runner keeps them in one accumulator, whose text is a ``GetJobMetricsResponse`` as JSON.
Written for the runner of Beam 2.62 on Flink 1.19.
"""

from __future__ import annotations

import dataclasses
import ssl
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

import requests
from apache_beam.portability.api import beam_job_api_pb2
from google.protobuf import json_format

from beam_ensembles.connections import FLAGS, CannotConnect, Security
from beam_ensembles.connections.security import SYSTEM_CA
from beam_ensembles.connections.server import token_refused
from beam_ensembles.connections.tls import try_tls
from beam_ensembles.files.bounded_json import JsonError, read_json
from beam_ensembles.files.deadlines import TookTooLong, call_within
from beam_ensembles.metrics.job_server import MOST_BYTES, Job, NoMetrics, no_job
from beam_ensembles.metrics.monitoring import of_response
from beam_ensembles.metrics.values import EnsembleMetrics

_ACCUMULATOR: Final = "__metricscontainers"
_SECONDS: Final = 30.0
"""How long the cluster may be silent."""
_ALL_SECONDS: Final = 60.0
"""How long an answer may take: one that comes byte by byte is never silent."""
_BLOCK: Final = 1 << 16
_Found = TypeVar("_Found")


class FlinkCluster:
    """The job manager at an address.

    Args:
        url: Of its REST API, ``http://host:8081``.
        security: Of the connection; None: neither a CA of its own nor a token.

    Raises:
        CannotConnect: TLS fails, a file that it needs is missing or malformed, or the token would travel in plain text.
    """

    def __init__(self, url: str, security: Security | None = None) -> None:
        self._url = url.rstrip("/")
        self._security = security or Security(FLAGS)
        self._name = f"the Flink cluster at {self._url}"
        self._tls = _tls_arguments(self._url, self._name, self._security)

    def jobs(self) -> tuple[Job, ...]:
        """Returns the jobs that it knows, the newest last.

        Raises:
            NoMetrics: It does not answer.
        """
        jobs = self._read("/jobs/overview", _jobs)
        return tuple(job for _, job in sorted(jobs, key=lambda one: (one[0], one[1].id)))

    def metrics(self, job: str) -> tuple[EnsembleMetrics, ...]:
        """Returns the metrics of the ensembles of a job, of a running one those of the steps that have ended.

        Args:
            job: The job's id.

        Raises:
            NoMetrics: It does not answer, or knows no such job.
        """
        known = [one.id for one in self.jobs()]
        if job not in known:
            raise no_job(job, known, self._url)
        return self._read(f"/jobs/{quote(job, safe='')}/accumulators", _metrics)

    def _read(self, path: str, parse: Callable[[Any], _Found]) -> _Found:
        """Returns what an answer holds; whoever answers may send anything.

        Raises:
            NoMetrics: The cluster does not answer in time, or not as one does.
        """
        status, reason, body = self._get(path)
        if status == HTTPStatus.UNAUTHORIZED:
            raise token_refused(self._name, self._security)
        what = f"'{self._url}' answers, but not as a Flink cluster does"
        if not HTTPStatus.OK <= status < HTTPStatus.BAD_REQUEST:
            raise NoMetrics(f"{what}: {status} {reason}")
        if len(body) > MOST_BYTES:
            raise NoMetrics(f"{what}: the answer has more than {MOST_BYTES >> 20} MiB")
        try:
            return parse(read_json(body))
        except (JsonError, ValueError, LookupError, TypeError, RecursionError, json_format.Error) as error:
            raise NoMetrics(f"{what}; give the address of its REST API") from error

    def _get(self, path: str) -> tuple[int, str, bytes]:
        """Returns the status, its name and the content, of which no more is read than ``MOST_BYTES`` and a block."""
        try:
            return call_within(_ALL_SECONDS, lambda: self._received(path), f"'{self._url}{path}'")
        except (requests.Timeout, TookTooLong) as error:
            seconds = _ALL_SECONDS if isinstance(error, TookTooLong) else _SECONDS
            text = f"no Flink cluster answers at '{self._url}' within {seconds:.0f} seconds"
            raise NoMetrics(text) from error
        except (requests.RequestException, ValueError) as error:
            raise NoMetrics(f"no Flink cluster answers at '{self._url}': {_cause(error)}") from error

    def _received(self, path: str) -> tuple[int, str, bytes]:
        with requests.Session() as session:
            # A proxy of the environment would read the token, and could answer in the cluster's place.
            session.trust_env = self._url.startswith("https:")
            with session.get(
                self._url + path,
                timeout=_SECONDS,
                allow_redirects=False,
                headers=self._headers(),
                stream=True,
                **self._tls,
            ) as answer:
                body = bytearray()
                for block in answer.iter_content(_BLOCK):
                    body += block
                    if len(body) > MOST_BYTES:
                        break
                return answer.status_code, str(answer.reason), bytes(body)

    def _headers(self) -> dict[str, str]:
        token = self._security.read_token()
        return {} if token is None else {"Authorization": f"Bearer {token}"}


def _jobs(answer: Any) -> list[tuple[int, Job]]:
    """Returns the jobs of an overview, each with the time when it began."""
    found = []
    for job in answer["jobs"]:
        start, texts = job["start-time"], (job["jid"], job["name"], job["state"])
        if not isinstance(start, int) or not all(isinstance(text, str) for text in texts):
            raise TypeError("a job of Flink has a whole number and texts")
        found.append((start, Job(*texts)))
    return found


def _metrics(answer: Any) -> tuple[EnsembleMetrics, ...]:
    response = beam_job_api_pb2.GetJobMetricsResponse()
    for accumulator in answer["user-task-accumulators"]:
        if accumulator["name"] == _ACCUMULATOR:
            found = read_json(str(accumulator["value"]).encode())
            if not isinstance(found, dict):
                raise TypeError("metrics are an object")
            json_format.ParseDict(found, response, ignore_unknown_fields=True)
    return of_response(response)


def _tls_arguments(url: str, name: str, security: Security) -> dict[str, Any]:
    """Returns the arguments of requests for TLS, which it tries first: the errors of requests are unreadable."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    address = f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"
    if parts.scheme == "http":
        if security.tls.startswith("--"):
            raise CannotConnect(f"{security.tls} needs a URL that begins with https://, not '{url}'")
        dataclasses.replace(security, tls_ca=None, tls_cert=None, tls_key=None).check_token_is_safe(address)
        return {}
    try_tls(address, name, security, _SECONDS, "http/1.1")
    ca, own = security.tls_ca, (security.tls_cert, security.tls_key)
    arguments: dict[str, Any] = {"cert": tuple(one.path for one in own if one) or None}
    if ca is None or ca.path == SYSTEM_CA:
        paths = ssl.get_default_verify_paths()
        return {**arguments, "verify": paths.cafile or paths.capath or True}
    return {**arguments, "verify": ca.path}


def _cause(error: BaseException) -> str:
    """Returns what the operating system says; what libraries put around it names their own classes."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(said.split()) or type(error).__name__
