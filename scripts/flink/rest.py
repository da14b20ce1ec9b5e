"""What Flink's job manager says of itself."""

from __future__ import annotations

import dataclasses
import json
import urllib.error
import urllib.request
from typing import Any

from scripts.processes import READY_SECONDS


@dataclasses.dataclass(frozen=True)
class Rest:
    """The REST interface of a job manager.

    Attributes:
        url: Where it is, ``http://host:port``.
    """

    url: str

    @property
    def address(self) -> str:
        """The host and port."""
        return self.url.removeprefix("http://")

    def jobs(self) -> list[dict[str, Any]]:
        """Returns the jobs: ``jid``, ``name``, ``state``, ``tasks`` and more, the newest last."""
        jobs = (self._get("/jobs/overview") or {}).get("jobs", [])
        return sorted(jobs, key=lambda job: int(job["start-time"]))

    def options(self, job: str) -> dict[str, str]:
        """Returns the pipeline options of a job, by Java's names, as texts."""
        config = (self._get(f"/jobs/{job}/config") or {}).get("execution-config", {})
        return dict(config.get("user-config", {}))

    def failures(self, job: str) -> list[str]:
        """Returns why tasks of a job had to be run again, the newest first."""
        history = (self._get(f"/jobs/{job}/exceptions") or {}).get("exceptionHistory", {})
        return [str(entry["stacktrace"]) for entry in history.get("entries", [])]

    def stacks(self) -> list[str]:
        """Returns the stack of each thread of the task managers (``cluster.thread-dump.stacktrace-max-depth``)."""
        managers = (self._get("/taskmanagers") or {}).get("taskmanagers", [])
        dumps = [self._get(f"/taskmanagers/{manager['id']}/thread-dump") or {} for manager in managers]
        return [
            str(thread["stringifiedThreadInfo"]) for dump in dumps for thread in dump.get("threadInfos", [])
        ]

    def cancel(self, job: str) -> None:
        """Ends a job, as one that would go on forever."""
        self._ask(urllib.request.Request(f"{self.url}/jobs/{job}", method="PATCH"))  # noqa: S310 - our own server

    def _get(self, path: str) -> Any:
        return self._ask(urllib.request.Request(self.url + path))  # noqa: S310 - our own server

    def _ask(self, request: urllib.request.Request) -> Any:
        try:
            with urllib.request.urlopen(request, timeout=READY_SECONDS) as answer:  # noqa: S310 - our own server
                return json.load(answer)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return None
