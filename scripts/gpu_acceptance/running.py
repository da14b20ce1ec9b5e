"""Runs the steps, each in a process of its own that is killed at its limit, and says what became of each."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from scripts.gpu_acceptance.setting import NotHere, Setting, Step, StepFailed

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
_LONGEST_TEXT: Final = 2_000


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a step.

    Attributes:
        step: Its name.
        status: ``passed``, ``failed`` or ``skipped``.
        seconds: How long it took.
        limit: How long it was allowed to take.
        figures: What it measured.
        text: Why it failed, or cannot run here.
    """

    step: str
    status: str
    seconds: float
    limit: float
    figures: dict[str, Any]
    text: str = ""

    @property
    def line(self) -> str:
        """The outcome as a line of JSON."""
        return json.dumps(dataclasses.asdict(self))


def run_steps(
    steps: Sequence[Step], setting: Setting, seconds: float, patience: float = 1.0
) -> Iterator[Outcome]:
    """Runs steps one after the other.

    Args:
        steps: The steps.
        setting: What they are given; each gets a folder of its own in this one's.
        seconds: How long all of them may take together.
        patience: Multiplies the limit of each.

    Yields:
        What became of each, as it ends. A step for which no time is left has failed.
    """
    end = time.monotonic() + seconds
    for step in steps:
        limit = min(step.seconds * patience, end - time.monotonic())
        if limit <= 0:
            yield Outcome(step.name, FAILED, 0.0, 0.0, {}, f"the {seconds:.0f} s of the run are over")
        else:
            yield _run(step, setting, limit)


def _run(step: Step, setting: Setting, limit: float) -> Outcome:
    """Runs a step in a process forked from this one, which has imported the libraries and never touches the device."""
    start = time.monotonic()
    receiver, sender = multiprocessing.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(dir=setting.folder, ignore_cleanup_errors=True) as folder:
        log = Path(folder, "log")
        own = dataclasses.replace(setting, folder=Path(folder, "files"))
        process = multiprocessing.get_context("fork").Process(
            target=_answer, args=(step, own, sender, log), name=step.name
        )
        process.start()
        sender.close()
        try:
            status, figures, text = _received(receiver, limit)
        finally:
            _end_group(process.pid)
            process.join()
        took = time.monotonic() - start
        if status == FAILED:
            print(_tail(log), file=sys.stderr)
    return Outcome(step.name, status, round(took, 2), round(limit, 1), figures, text[:_LONGEST_TEXT])


def _received(receiver: Connection, limit: float) -> tuple[str, dict[str, Any], str]:
    if not receiver.poll(limit):
        return FAILED, {}, f"not done after {limit:.0f} s"
    try:
        status, figures, text = receiver.recv()
    except EOFError:
        return FAILED, {}, "its process died"
    return status, figures, text


def _answer(step: Step, setting: Setting, sender: Connection, log: Path) -> None:
    """Runs a step and sends what became of it; what is printed goes to its log."""
    os.setsid()
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    setting.folder.mkdir()
    try:
        sender.send((PASSED, dict(step.run(setting)), ""))
    except NotHere as error:
        sender.send((SKIPPED, {}, str(error)))
    except StepFailed as error:
        sender.send((FAILED, {}, str(error)))
    except BaseException as error:  # whatever a step raises is its failure
        traceback.print_exc()
        sender.send((FAILED, {}, f"{type(error).__name__}: {error}"))
    sys.stdout.flush()
    sys.stderr.flush()


def _end_group(process: int | None) -> None:
    """Kills a step's process and all that it has started."""
    if process is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)


def _tail(log: Path) -> str:
    if not log.exists():
        return ""
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:])


def table(outcomes: Sequence[Outcome]) -> str:
    """Returns a table for people: a line for each step, with its figures below."""
    lines = []
    for one in outcomes:
        lines.append(f"{one.status.upper():>7}  {one.step:<16} {one.seconds:>6.1f} s  {one.text}".rstrip())
        lines += [f"{'':>9}{name} = {_shown(value)}" for name, value in one.figures.items()]
    counts = {status: sum(one.status == status for one in outcomes) for status in (PASSED, FAILED, SKIPPED)}
    lines.append(", ".join(f"{count} {status}" for status, count in counts.items()))
    return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
