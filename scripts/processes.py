"""Starts programs that serve, waits until they do, and stops them with all that they started."""

from __future__ import annotations

import contextlib
import re
import shlex
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from scripts.layout import ROOT, relative
from scripts.shell import Command, CommandFailed, stop, tail

READY_SECONDS = 300.0
"""How long an event that must happen may take: only a hang takes longer, even on the slowest machine."""


@contextlib.contextmanager
def serving(
    command: Command, ready: re.Pattern[str], *, log: Path, env: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Runs a program that serves, for as long as the block lasts.

    Its stdin is a pipe that this process holds: a program that watches it ends with us, whatever happens.

    Args:
        command: The program and its arguments.
        ready: Found in what it prints once it serves; group 1 is the address.
        log: Where all that it prints goes.
        env: Its environment; None: ours.

    Yields:
        The address that it serves on.

    Raises:
        CommandFailed: it ended, or did not get ready in time.
    """
    with running(command, log=log, env=env) as process:
        yield address(process, ready, log)


@contextlib.contextmanager
def running(
    command: Command, *, log: Path, env: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program for as long as the block lasts, as ``serving`` does, without waiting for anything.

    Yields:
        Its process, which leads a session.
    """
    words = [str(word) for word in command]
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=cwd,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        stop(process)


def address(process: subprocess.Popen[bytes], ready: re.Pattern[str], log: Path) -> str:
    """Waits until a program says that it serves; gives group 1 of what it says.

    Raises:
        CommandFailed: it ended, or did not get ready in time.
    """
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        ended = process.poll() is not None
        found = ready.search(log.read_text(encoding="utf-8", errors="replace"))
        if found is not None and not ended:
            return found[1]
        if ended:
            break
        time.sleep(0.05)
    how = "is not ready in time" if process.returncode is None else f"ended with {process.returncode}"
    words = process.args if isinstance(process.args, list) else [str(process.args)]
    raise CommandFailed(f"{shlex.join(words)}\n{how}; the end of {relative(log)}:\n{tail(log)}")


def free_ports(count: int) -> list[int]:
    """Returns different ports that were free a moment ago, for servers that cannot choose one themselves."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
