"""Runs commands whose output goes to a log, shows the log's end when one fails, and ends what they started."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from scripts.layout import LOGS, ROOT, relative

TAIL_LINES = 30
STOP_SECONDS = 60.0
"""How long a program may take to end before it is killed."""
_RUNNING: set[subprocess.Popen[bytes]] = set()
_STOPPED = threading.Event()

Command = Sequence["str | Path"]
"""A program and its arguments."""


class CommandFailed(Exception):
    """A command ended with an error; the text holds the end of its log."""


class Missing(Exception):
    """Something that this machine lacks and that could not be had; says how to get it. The rest goes on."""


def log_path(name: str) -> Path:
    """Returns the log of a step, in a folder that exists."""
    LOGS.mkdir(parents=True, exist_ok=True)
    return LOGS / f"{name.replace(' ', '-')}.log"


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """Returns the last lines of a log."""
    with log.open(encoding="utf-8", errors="replace") as text:
        return "".join(deque(text, maxlen=lines)).rstrip()


class TimedOut(CommandFailed):
    """A command did not end in time, and was killed."""


def run(
    command: Command,
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    seconds: float | None = None,
) -> None:
    """Runs ``command`` and appends what it prints to ``log``.

    It leads a session: where this is left by an exception, it is ended with all that it started.

    Raises:
        TimedOut: it did not end within ``seconds``.
        CommandFailed: it did not end with 0, or is not there; or all commands are stopped.
    """
    check_stopped()
    words = [str(word) for word in command]
    with log.open("a", encoding="utf-8") as out:
        out.write(f"$ {shlex.join(words)}\n")
        out.flush()
        try:
            process = subprocess.Popen(
                words,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as exc:
            raise CommandFailed(f"cannot run {words[0]}: {exc.strerror}") from exc
        _RUNNING.add(process)
        try:
            check_stopped()  # or it would be missed by whoever stops them all just now
            code = process.wait(seconds)
        except subprocess.TimeoutExpired as exc:
            stop(process)
            raise TimedOut(f"{shlex.join(words)}\ndid not end within {seconds:.0f} s") from exc
        except BaseException:
            stop(process)
            raise
        finally:
            _RUNNING.discard(process)
    if code != 0:
        raise CommandFailed(
            f"{shlex.join(words)}\nended with {code}; the end of {relative(log)}:\n{tail(log)}"
        )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Asks a program that leads its own session to end, then ends whatever is left of the session."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


@contextlib.contextmanager
def stopped_together() -> Iterator[None]:
    """Ends the commands of all threads where the block is left by an exception; none starts until it is over."""
    try:
        yield
    except BaseException:
        _STOPPED.set()
        for process in tuple(_RUNNING):
            stop(process)
        raise


def allow_commands() -> None:
    """Allows commands to start again."""
    _STOPPED.clear()


def check_stopped() -> None:
    """Raises ``CommandFailed`` if the commands of all threads are stopped."""
    if _STOPPED.is_set():
        raise CommandFailed("stopped")


def output(command: Command, *, env: Mapping[str, str] | None = None) -> str | None:
    """Returns what a short command prints, both streams, or None where it fails or is not there."""
    try:
        done = subprocess.run(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env=env,
            check=False,
        )
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
