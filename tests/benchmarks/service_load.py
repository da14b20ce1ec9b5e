"""The service under load: two hundred Expands at one time, and its memory after thousands of them."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from beam_ensembles_service.callers.listeners import process_on
from tests.benchmarks.service_times import of_twenty_nodes, serving_twenty_nodes, stub

CALLS: Final = 200
"""Calls at one time."""
TOGETHER: Final = 4
"""Calls at one time where memory is looked at."""
_MIB: Final = 2**20


@dataclasses.dataclass(frozen=True)
class Load:
    """What the service did.

    Attributes:
        answered: Calls of ``CALLS`` at one time that were answered without an error.
        seconds: Until the last answer.
        memory: Resident bytes of the service's process by how many expansions it had done.
    """

    answered: int
    seconds: float
    memory: Mapping[int, int]


def measure(expansions: int, progress: Callable[[str], None]) -> Load:
    """Measures it with a file of twenty nodes.

    Args:
        expansions: How many are done one after the other; memory is looked at after each tenth.
        progress: Told what is being measured.
    """
    request = of_twenty_nodes()
    with serving_twenty_nodes() as address, stub(address) as service:
        process = process_on(address)
        if process is None:
            raise RuntimeError(f"nobody listens on {address}")
        progress(f"{CALLS} Expands at one time")
        start = time.perf_counter()
        answered = _call(service, request, CALLS, CALLS)
        seconds = time.perf_counter() - start
        memory, done = {}, CALLS
        for part in range(1, 11):
            progress(f"{part * expansions // 10} of {expansions} Expands")
            more = part * expansions // 10 - done
            if more > 0:
                _call(service, request, more, TOGETHER)
                done += more
            memory[done] = _resident(process)
    return Load(answered, seconds, memory)


def _call(service: Any, request: Any, calls: int, together: int) -> int:
    """Makes calls, some at one time; gives how many were answered without an error."""

    def call(_: int) -> bool:
        return not service.Expand(request).error

    with ThreadPoolExecutor(together) as threads:
        return sum(threads.map(call, range(calls)))


def _resident(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "VmRSS":
            return int(value.split()[0]) * 1_024
    raise RuntimeError(f"process {process} has no memory")


def sentences(load: Load) -> list[str]:
    """Says it in words."""
    (first, at_first), *_, (last, at_last) = load.memory.items()
    return [
        f"{load.answered} of {CALLS} Expands of twenty nodes at one time were answered, in {load.seconds:.1f} s.",
        f"Its resident memory after {first:,} of them is {at_first / _MIB:.0f} MiB, "
        f"after {last:,} {at_last / _MIB:.0f} MiB.",
    ]


def show(load: Load, console: Console) -> None:
    """Prints it."""
    for sentence in sentences(load):
        console.print(f"Service: {sentence}", highlight=False)


def page(load: Load) -> str:
    """Gives it as a part of a page in Markdown."""
    return "\n".join(
        ["## The service under load", "", *(f"- {sentence}" for sentence in sentences(load)), "", ""]
    )
