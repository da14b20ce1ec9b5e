"""Runs that are programs of their own, in any language: they print a ``Run`` as one JSON object.

A program either makes one run and ends, or is started once and makes all runs, so that no run pays for the start of a
JVM or a cluster. Such a program prints ``{}`` when it is ready; each line of its input is a number of rows, and it
prints the run on a line. What it says besides is in ``build/logs/bench-NAME.log``.
"""

from __future__ import annotations

import contextlib
import json
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from scripts.layout import ROOT
from scripts.shell import Command, CommandFailed, TimedOut, log_path, stop, tail
from tests.benchmarks.sampling import Run

SECONDS: Final = 300
"""How long a run may take. Sometimes one of Beam's clients waits forever for a job that Prism has ended; then the
program is started again, and only the run that it makes then counts."""
_END_SECONDS: Final = 30
"""How long a program may take to end after its input has."""


def run_program(name: str, command: Command) -> Run:
    """Runs a program that makes one run.

    Raises:
        CommandFailed: It failed, or did not end in time, twice.
    """
    log = log_path(f"bench-{name}")
    for _ in range(2):
        with log.open("w", encoding="utf-8") as errors, contextlib.suppress(subprocess.TimeoutExpired):
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=errors, timeout=SECONDS, check=False
            )
            if done.returncode != 0:
                raise CommandFailed(f"{name} ended with {done.returncode}:\n{tail(log)}")
            return Run(**json.loads(done.stdout))
    raise CommandFailed(f"{name} did not end in {SECONDS} s, twice")


@contextlib.contextmanager
def started(
    name: str, command: Command, env: Mapping[str, str] | None = None
) -> Iterator[tuple[Callable[[int], Run], float]]:
    """Starts a program that makes runs for as long as the block lasts.

    Yields:
        What makes a run of so many rows, and the seconds until the program was ready. A run raises ``CommandFailed`` if
        the program ended, or was silent for too long, twice.

    Raises:
        CommandFailed: It did not get ready.
    """
    program = _Program(name, command, env)
    try:
        start = time.perf_counter()
        program.start()
        yield program.run, time.perf_counter() - start
    finally:
        program.end()


class _Program:
    """A program that makes runs, one after another."""

    def __init__(self, name: str, command: Command, env: Mapping[str, str] | None) -> None:
        self._name, self._command, self._env = name, command, env
        self._log = log_path(f"bench-{name}")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(
                self._command,
                bufsize=0,  # or a line that has been read ahead is not seen to be there
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=self._env,
                cwd=ROOT,
                start_new_session=True,
            )
        self._next(self._process)

    def run(self, rows: int) -> Run:
        """Creates a run; a program that is silent is ended and started again for it, once."""
        with contextlib.suppress(TimedOut):
            return self._ask(rows)
        self.end()
        try:
            self.start()
            return self._ask(rows)
        except TimedOut:
            self.end()
            raise

    def end(self) -> None:
        """Waits until it ends by itself, with all that it started; then kills the rest."""
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        process.stdout.close()
        stop(process)

    def _ask(self, rows: int) -> Run:
        if self._process is None:
            raise CommandFailed(f"{self._name} has ended")
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: its log says why
            self._process.stdin.write(f"{rows}\n".encode())
        return Run(**self._next(self._process))

    def _next(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], SECONDS)[0]:
            raise TimedOut(f"{self._name} said nothing for {SECONDS} s:\n{tail(self._log)}")
        line = process.stdout.readline()
        if not line:
            raise CommandFailed(f"{self._name} ended:\n{tail(self._log)}")
        found: dict[str, Any] = json.loads(line)
        return found
