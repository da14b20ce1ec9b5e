"""Sets the cores and stage processes of a test's process, as its environment would when it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from beam_ensembles.processes.child_process import _CORES_VARIABLE
from beam_ensembles.processes.machine import Machine, this_machine
from beam_ensembles.processes.process_count import PROCESSES_VARIABLE

Have = Callable[..., Machine]


@pytest.fixture
def have(monkeypatch: pytest.MonkeyPatch) -> Iterator[Have]:
    """Returns a function that makes this process's machine anew, with some cores and stage processes."""

    def made(*, cores: int | None = None, stage_processes: int | None = None) -> Machine:
        for name, said in ((_CORES_VARIABLE, cores), (PROCESSES_VARIABLE, stage_processes)):
            if said is not None:
                monkeypatch.setenv(name, str(said))
        this_machine.cache_clear()
        return this_machine()

    yield made
    this_machine.cache_clear()
