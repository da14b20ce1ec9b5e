"""One line a step, with colours on a terminal that wants them. Safe to call from several threads."""

from __future__ import annotations

import os
import sys
import threading

_LOCK = threading.Lock()
_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}


def styled(text: str, style: str) -> str:
    """Gives ``text`` in a style (``bold dim red green yellow``), or as it is where colours are not wanted."""
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"\033[{_CODES[style]}m{text}\033[0m"


def say(text: str = "") -> None:
    """Prints a line at once and whole."""
    with _LOCK:
        print(text, flush=True)


def step_line(mark: str, style: str, name: str, note: str, seconds: float | None = None) -> None:
    """Prints one step's line: what became of it, its name, how long it took, a note."""
    time = "" if seconds is None else f"{seconds:.1f} s"
    say(f"  {styled(f'{mark:>5}', style)}  {name:<18} {time:>8}  {note}".rstrip())
