"""Runs commands whose output goes to a log, and shows the log's end when one fails."""

from __future__ import annotations

import shlex
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.layout import LOGS, ROOT, relative

TAIL_LINES = 30

Command = Sequence["str | Path"]
"""A program and its arguments."""


class CommandFailed(Exception):
    """A command ended with an error; the text holds the end of its log."""


def log_path(name: str) -> Path:
    """Gives the log of a step, in a folder that exists."""
    LOGS.mkdir(parents=True, exist_ok=True)
    return LOGS / f"{name.replace(' ', '-')}.log"


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """Gives the last lines of a log."""
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

    Raises:
        TimedOut: it did not end within ``seconds``.
        CommandFailed: it did not end with 0, or is not there.
    """
    words = [str(word) for word in command]
    with log.open("a", encoding="utf-8") as out:
        out.write(f"$ {shlex.join(words)}\n")
        out.flush()
        try:
            code = subprocess.run(
                words,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=env,
                cwd=cwd,
                check=False,
                timeout=seconds,
            ).returncode
        except subprocess.TimeoutExpired as exc:
            raise TimedOut(f"{shlex.join(words)}\ndid not end within {seconds:.0f} s") from exc
        except OSError as exc:
            raise CommandFailed(f"cannot run {words[0]}: {exc.strerror}") from exc
    if code != 0:
        raise CommandFailed(
            f"{shlex.join(words)}\nended with {code}; the end of {relative(log)}:\n{tail(log)}"
        )


def output(command: Command, *, env: Mapping[str, str] | None = None) -> str | None:
    """Gives what a short command prints, both streams, or None where it fails or is not there."""
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
