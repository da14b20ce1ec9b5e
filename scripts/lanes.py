"""Runs commands that take minutes in lanes side by side, one after another within a lane; shows what each printed."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from scripts.layout import ROOT
from scripts.processes import running
from scripts.shell import Command, log_path, tail
from scripts.terminal import say, step_line, styled

HEARTBEAT_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.2


@dataclasses.dataclass(frozen=True)
class Task:
    """A command of a lane.

    Attributes:
        name: Unique among those of all lanes.
        command: The program and its arguments.
        folder: Where it runs.
    """

    name: str
    command: Command
    folder: Path = ROOT


@dataclasses.dataclass
class _Running:
    task: Task
    after: deque[Task]
    process: subprocess.Popen[bytes]
    left: contextlib.ExitStack
    log: Path
    start: float
    told: float

    def tell(self) -> None:
        """Prints now and then how long it runs, and what it said last."""
        now = time.monotonic()
        if now - self.told > HEARTBEAT_SECONDS:
            self.told = now
            step_line("..", "dim", self.task.name, tail(self.log, 1), now - self.start)

    def show(self) -> bool:
        """Prints all that it said once it has ended; gives whether it ended well."""
        code = self.process.returncode
        say(f"\n{self.log.read_text(encoding='utf-8', errors='replace').rstrip()}")
        ended = f"{self.task.name}: ended with {code} after {time.monotonic() - self.start:.0f} s\n"
        say(styled(ended, "red" if code else "green"))
        return code == 0


def run_lanes(lanes: Sequence[Sequence[Task]], env: Mapping[str, str]) -> list[str]:
    """Runs the tasks of all lanes, whether or not those before them went well.

    Args:
        lanes: Tasks that run one after another, a lane each.
        env: Their environment.

    Returns:
        The names of those that did not end with 0. Where this is left by an exception, what runs is ended.
    """
    failed: list[str] = []
    with contextlib.ExitStack() as started:
        now = [_start(deque(lane), env, started) for lane in lanes if lane]
        while now:
            time.sleep(_POLL_SECONDS)
            for one in tuple(now):
                if one.process.poll() is None:
                    one.tell()
                    continue
                now.remove(one)
                one.left.close()  # what it left running, while its id is still its own
                if not one.show():
                    failed.append(one.task.name)
                if one.after:
                    now.append(_start(one.after, env, started))
    return failed


def _start(lane: deque[Task], env: Mapping[str, str], started: contextlib.ExitStack) -> _Running:
    task = lane.popleft()
    log, start = log_path(task.name), time.monotonic()
    step_line("..", "dim", task.name, " ".join(map(str, task.command)))
    left = started.enter_context(contextlib.ExitStack())
    process = left.enter_context(running(task.command, log=log, env=env, cwd=task.folder))
    return _Running(task, lane, process, left, log, start, told=start)
