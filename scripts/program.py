"""What a program of make prints, where its temporary files go, and how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from scripts.shell import CommandFailed, Missing

_LOCK = threading.Lock()
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_VARIABLE = "TMPDIR"


def styled(text: str, style: str) -> str:
    """Returns ``text`` in a style (``bold dim red green yellow``), or as it is where colours are not wanted."""
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"\033[{_CODES[style]}m{text}\033[0m"


def say(text: str = "") -> None:
    """Prints a line at once and whole; safe to call from several threads."""
    with _LOCK:
        print(text, flush=True)


def step_line(mark: str, style: str, name: str, note: str, seconds: float | None = None) -> None:
    """Prints the line of a step: what became of it, its name, how long it took, a note."""
    time = "" if seconds is None else f"{seconds:.1f} s"
    say(f"  {styled(f'{mark:>5}', style)}  {name:<18} {time:>8}  {note}".rstrip())


@contextlib.contextmanager
def own_temporary_folder() -> Iterator[str]:
    """Creates this process, and the programs that it starts, use a temporary folder that is removed after the block.

    Beam's Python SDK leaves a folder per pipeline and environment, its Go SDK the worker's binary (40 MB) per loopback
    pipeline.

    Yields:
        The folder.
    """
    before = os.environ.get(_VARIABLE)
    with tempfile.TemporaryDirectory(prefix="beam-ensembles-", ignore_cleanup_errors=True) as folder:
        os.environ[_VARIABLE] = tempfile.tempdir = folder
        try:
            yield folder
        finally:
            tempfile.tempdir = None
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before


def end_with_cleanup_on_sigterm() -> None:
    """Ends this process on SIGTERM and SIGHUP as on Ctrl-C: blocks are left in order and stop what they started."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, leave)


def exit_code(work: Callable[[], bool]) -> int:
    """Runs ``work``, which says whether it went as it should, with a temporary folder; returns the exit code."""
    end_with_cleanup_on_sigterm()
    start = time.monotonic()
    try:
        with own_temporary_folder():
            well = work()
    except (CommandFailed, Missing) as exc:
        say(styled(str(exc), "red"))
        well = False
    except KeyboardInterrupt:
        say("\nStopped")
        return 130
    say(f"{time.monotonic() - start:.0f} s")
    return 0 if well else 1
