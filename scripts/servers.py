"""The two servers that pipelines need: the project's own service, and Prism, Beam's local runner."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from scripts.layout import PRISM, PYTHON
from scripts.processes import serving
from scripts.shell import Command, log_path

SERVICE_VARIABLE = "BEAM_ENSEMBLES_ADDR"
"""Names the environment variable that tells pipelines and tests where a service is."""
PRISM_VARIABLE = "BEAM_ENSEMBLES_PRISM"
"""Names the environment variable that tells tests where a Prism is."""
FRAMEWORKS_VARIABLE = "BEAM_ENSEMBLES_FRAMEWORKS"
"""Names the environment variable that tells tests where an ensemble with a node of every framework is."""
_ANY_USER = () if sys.platform == "linux" else ("--insecure",)
"""Elsewhere the service cannot tell which user of the machine connects, and Beam's own clients send no token."""
IDLE_SHUTDOWN = "30m"
"""Prism cannot watch the process that started it; so it ends some time after its last job."""


@contextlib.contextmanager
def service(
    *trusted: Path,
    flags: Sequence[str] = (),
    workers: str | None = None,
    shared_files: bool = True,
    variables: Mapping[str, str] | None = None,
    installed: Path | None = None,
) -> Iterator[str]:
    """Runs the service, with a worker of its own, on a free port.

    Args:
        trusted: Folders whose scikit-learn models may be loaded.
        flags: Other flags of the service.
        workers: Address of a pool of workers on this machine, to use instead of the service's own.
        shared_files: Whether that pool is told to see the service's files.
        variables: What its environment, and so that of its workers, has beside ours.
        installed: A folder of packages that it and its workers have beside those of this environment.

    Yields:
        Its address, ``host:port``.
    """
    shared = ["--shared-files"] if shared_files else []
    external = ["--environment-type=EXTERNAL", f"--environment-config={workers}", *shared]
    where = external if workers else ["--serve-loopback-worker"]
    serve: Command = [PYTHON, "-m", "beam_ensembles_service", "--port", "0", *where]
    trust = [word for folder in trusted for word in ("--trust", folder)]
    passed = [word for name in variables or {} for word in ("--worker-env", name)]
    command: Command = [*serve, "--stop-with-stdin", *trust, *passed, *_ANY_USER, *flags]
    env = {**os.environ, **(variables or {})}
    if installed is not None:
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), str(installed)]))
    with serving(command, re.compile(r"listening on (\S+:\d+)"), log=log_path("service"), env=env) as address:
        yield address


@contextlib.contextmanager
def prism() -> Iterator[str]:
    """Runs Prism on a free port.

    Yields:
        The address of its job service, ``host:port``.
    """
    flags = ["--job_port=0", "--serve_http=false", "--log_kind=json"]
    command: Command = [PRISM, *flags, f"--idle_shutdown_timeout={IDLE_SHUTDOWN}"]
    with serving(command, re.compile(r'"endpoint":"(\S+?:\d+)"'), log=log_path("prism-server")) as address:
        yield address


class Reached(NamedTuple):
    """How workers reach the models that others serve.

    Attributes:
        variables: Environment variables for those that no address names.
        hosts: Addresses of others, which the service has to allow.
    """

    variables: dict[str, str]
    hosts: list[str]


@contextlib.contextmanager
def frameworks(folder: Path) -> Iterator[Reached]:
    """Creates an ensemble with a node of every framework, and serves the remote ones of its models.

    Args:
        folder: Where its files go.

    Yields:
        How workers reach those.
    """
    command: Command = [PYTHON, "-m", "tests.support.every_framework", folder]
    with serving(command, re.compile(r"serving (\S+)"), log=log_path("frameworks")):
        found = [
            json.loads((folder / f"{name}.json").read_text("utf-8")) for name in ("environment", "hosts")
        ]
        yield Reached(*found)
