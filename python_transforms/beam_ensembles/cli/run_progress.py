"""The progress of ``run``, on a terminal only."""

from __future__ import annotations

import contextlib
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
    """Gives a function that draws a bar on standard error; where that is no terminal, it does nothing."""
    if not sys.stderr.isatty():
        yield _nothing
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[shown]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None, shown="")

        def show(doing: str, *, done: int = 0, total: int | None = None, rows: int = 0) -> None:
            shown = f"{rows:,} rows" if rows else ""
            bar.update(task, description=doing, completed=done, total=total, shown=shown)

        yield show


def _nothing(doing: str, *, done: int = 0, total: int | None = None, rows: int = 0) -> None:
    pass
