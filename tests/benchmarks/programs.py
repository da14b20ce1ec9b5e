"""Runs that are programs of their own, in any language: they print a ``Run`` as one JSON object."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Final

from scripts.shell import Command, CommandFailed, log_path, tail
from tests.benchmarks.sampling import Run

SECONDS: Final = 300
"""How long a run may take. Now and then one of Beam's clients waits for ever for a job that Prism has ended; then the
program is run once more, and only that run counts."""


def run_program(name: str, command: Command, env: Mapping[str, str] | None = None) -> Run:
    """Runs a program; what it says beside the run is in ``build/logs/bench-NAME.log``.

    Raises:
        CommandFailed: It ended with an error, or not in time, twice.
    """
    try:
        return _run(name, command, env)
    except subprocess.TimeoutExpired:
        pass
    try:
        return _run(name, command, env)
    except subprocess.TimeoutExpired as exc:
        raise CommandFailed(f"{name} did not end in {SECONDS} s, twice") from exc


def _run(name: str, command: Command, env: Mapping[str, str] | None) -> Run:
    log = log_path(f"bench-{name}")
    with log.open("w", encoding="utf-8") as errors:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=errors, timeout=SECONDS, check=False, env=env
        )
    if done.returncode != 0:
        raise CommandFailed(f"{name} ended with {done.returncode}:\n{tail(log)}")
    return Run(**json.loads(done.stdout))
