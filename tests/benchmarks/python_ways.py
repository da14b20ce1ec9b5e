"""Rows a second in Python: each way in a process of its own, so that none sees what another leaves behind."""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Final, TypeVar

from beam_ensembles.processes.process_count import PROCESSES_VARIABLE
from tests.benchmarks import pipelines
from tests.benchmarks.pipelines import ENSEMBLE, HAND_WIRED, LOOP, ONE_NODE, RUN_INFERENCE
from tests.benchmarks.sampling import Way
from tests.benchmarks.workload import STAGE_PROCESSES, Workload, different

Result = TypeVar("Result")

ROWS: Final = {
    "light": {
        ENSEMBLE: 393_216,
        HAND_WIRED: 32_768,
        LOOP: 524_288,
        ONE_NODE: 524_288,
        RUN_INFERENCE: 262_144,
    },
    "digits": {
        ENSEMBLE: 131_072,
        HAND_WIRED: 16_384,
        LOOP: 131_072,
        ONE_NODE: 262_144,
        RUN_INFERENCE: 131_072,
    },
    "text": {ENSEMBLE: 36_864, HAND_WIRED: 2_048, LOOP: 2_048},
    "image": {ENSEMBLE: 81_920, HAND_WIRED: 4_096, LOOP: 4_096},
}
"""Rows of the first long run: seconds of work; about eight starts where a start takes seconds."""


CALLERS: Final = {LOOP: "bare loop", ENSEMBLE: "python", HAND_WIRED: "python hand-wired"}


@contextlib.contextmanager
def python_ways(workload: Workload) -> Iterator[dict[str, Way]]:
    """Gives the ways to score a workload's rows in Python, by caller."""
    with contextlib.ExitStack() as processes:
        yield {caller: _way(processes, workload.name, way) for way, caller in CALLERS.items()}


@contextlib.contextmanager
def one_node_ways(workload: str) -> Iterator[dict[str, Way]]:
    """Gives the ways to score a workload's rows with one model; none where that is not measured."""
    with contextlib.ExitStack() as processes:
        ways = (way for way in (ONE_NODE, RUN_INFERENCE) if way in ROWS[workload])
        yield {way: _way(processes, workload, way) for way in ways}


def _way(processes: contextlib.ExitStack, workload: str, way: str) -> Way:
    run = isolated(processes, functools.partial(pipelines.run, workload, way))
    return Way(run, ROWS[workload][way], scores="all", step=different(workload))


def isolated(processes: contextlib.ExitStack, run: Callable[[int], Result]) -> Callable[[int], Result]:
    """Gives what runs in a process of its own, which ends with the stack; ensembles in it, in several more."""
    spawn = multiprocessing.get_context("spawn")
    process = processes.enter_context(ProcessPoolExecutor(1, mp_context=spawn, initializer=_say_processes))
    return lambda count: process.submit(run, count).result()


def _say_processes() -> None:
    os.environ[PROCESSES_VARIABLE] = str(STAGE_PROCESSES)
