"""What a process has of its machine: cores, threads for PyTorch, and how many processes it may run a stage in.

Whoever starts a worker, a process of a stage or a command makes it once and hands it down.
"""

from __future__ import annotations

import dataclasses
import functools
import os

from beam_ensembles.processes.cores import Cores
from beam_ensembles.processes.last_used_threads import LastUsed
from beam_ensembles.processes.process_count import count_of_processes


@dataclasses.dataclass(frozen=True, slots=True)
class Machine:
    """What all stages and threads of a process share.

    Attributes:
        cores: Its cores, and which of them nothing uses.
        pytorch: The threads in which PyTorch runs.
        stage_processes: The number of processes for a stage that is worth it; None: the stage finds it out.
    """

    cores: Cores = dataclasses.field(default_factory=Cores.of_this_process)
    pytorch: LastUsed = dataclasses.field(default_factory=LastUsed)
    stage_processes: int | None = 1


@functools.cache
def this_machine() -> Machine:
    """Returns the one of this process, for what Beam makes by itself; others get it handed down.

    Raises:
        EnsembleError: The environment says no number of processes.
    """
    return Machine(stage_processes=count_of_processes())


os.register_at_fork(after_in_child=this_machine.cache_clear)  # no thread outlives a fork
