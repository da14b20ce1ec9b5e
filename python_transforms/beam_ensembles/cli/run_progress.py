"""The progress of ``run``, on a terminal only.

A notebook's cell that starts with ``!`` is not one: it keeps each frame of the bar on a line of its own.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn


class Show(Protocol):
    """Shows what is being done, and how much of it is."""

    def __call__(self, doing: str, *, done: int = 0, total: int | None = None, rows: int = 0) -> None:
        """Shows it; without a total the bar only shows that something is going on."""


@contextlib.contextmanager
def progress() -> Iterator[Show]:
    """Returns a function that draws a bar on standard error; where that is no terminal, it does nothing."""
    if not sys.stderr.isatty() or in_notebook():
        yield _nothing
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[shown]}"),
        TimeRemainingColumn(),
    )
    # A copy: standard error is elsewhere for a while where TensorFlow is imported (inference_imports).
    with (
        open(os.dup(sys.stderr.fileno()), "w", encoding=sys.stderr.encoding) as screen,
        Progress(*columns, console=Console(file=screen), transient=True) as bar,
    ):
        task = bar.add_task("starting", total=None, shown="")

        def show(doing: str, *, done: int = 0, total: int | None = None, rows: int = 0) -> None:
            shown = f"{rows:,} rows" if rows else ""
            bar.update(task, description=doing, completed=done, total=total, shown=shown)

        yield show


def in_notebook() -> bool:
    """Whether a notebook's kernel is this process, or started it: it leaves marks in the environment."""
    return "JPY_PARENT_PID" in os.environ or "inline" in os.environ.get("MPLBACKEND", "")


def _nothing(doing: str, *, done: int = 0, total: int | None = None, rows: int = 0) -> None:
    pass
