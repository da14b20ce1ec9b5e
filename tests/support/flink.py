"""A Flink cluster with a pool of Python workers, as the tests see it, and the digits example on it."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from scripts import answers, toolchains
from scripts.example import Example
from scripts.flink.cluster import Cluster
from scripts.members import DIGITS
from scripts.pipelines import Language, Servers
from scripts.shell import log_path, run, tail

PIPELINE_SECONDS: Final = 900
"""How long a pipeline may take, on a machine that has much else to do."""
_STACKS, _FRAMES, _LINES = 4, 10, 8
"""How much is said of a job that does not end, so that all of it is read."""


@dataclasses.dataclass(frozen=True)
class Flink:
    """A cluster that runs.

    Attributes:
        cluster: The cluster.
        workers: Where the pool of Python workers is.
        workers_log: What the pool says.
        workers_cache: Where its workers unpack bundles; nobody else does there.
    """

    cluster: Cluster
    workers: str
    workers_log: Path
    workers_cache: Path

    def what_it_does(self) -> str:
        """Returns in some lines why the newest job may not end: its state, the ends of the logs, what waits in Beam."""
        managers = self.cluster.task_managers
        stacks = [stack for stack in self.cluster.rest.stacks() if "org.apache.beam" in stack]
        return "\n".join(
            [
                *("\n".join(stack.splitlines()[:_FRAMES]) for stack in stacks[:_STACKS]),
                *(
                    f"{log.name}:\n{tail(log, _LINES)}"
                    for log in (*(one.log for one in managers), self.workers_log)
                ),
                f"task managers that have ended: {sum(one.process.poll() is not None for one in managers)}",
                f"the newest job: {self.cluster.rest.jobs()[-1:]}",
            ]
        )


def digits_in(folder: Path) -> Example:
    """Returns the digits example with a folder of its own, which is made, for what comes out."""
    folder.mkdir()
    shutil.copy(DIGITS.input, folder)
    return dataclasses.replace(DIGITS, made=folder)


def score(
    language: Language, example: Example, at: Servers, name: str, flags: Sequence[str] = ()
) -> list[answers.Answer]:
    """Runs a pipeline; returns what it answered."""
    log = log_path(f"{name}-{language.name}".lower())
    command = [*language.command(example, at), *flags]
    run(command, log=log, env=toolchains.environment(), seconds=PIPELINE_SECONDS)
    return answers.read(example.answers(language.name))
