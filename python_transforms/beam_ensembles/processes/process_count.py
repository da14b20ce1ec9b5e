"""The number of processes for each stage of a worker: ``--stage-processes``. Imports little, for the command line."""

from __future__ import annotations

import os
from typing import Final

from beam_ensembles.errors import EnsembleError
from beam_ensembles.messages.printable import truncate

PROCESSES_VARIABLE: Final = "BEAM_ENSEMBLES_STAGE_PROCESSES"
"""Names the environment variable that says it to a worker; 0 and 1 are the worker itself."""
MOST_PROCESSES: Final = 256
HELP: Final = (
    "run an ensemble in this many processes of each worker started here, 0 or 1: in the worker itself; each process "
    f"loads the models (default: ${PROCESSES_VARIABLE}, otherwise as many as there are idle cores and memory for, "
    "found out after some seconds of work)"
)
"""What a flag that sets it says."""


def count_of_processes() -> int | None:
    """Returns what the environment sets; None where it sets nothing, and a stage finds it out.

    Raises:
        EnsembleError: The variable is not a valid number.
    """
    said = os.environ.get(PROCESSES_VARIABLE, "").strip()
    if said and (wrong := wrong_count(said)):
        raise EnsembleError(f"${PROCESSES_VARIABLE} {wrong}")
    return int(said) if said else None


def wrong_count(said: str) -> str:
    """Returns what is wrong with a number of processes, as the end of a sentence; nothing where it is right."""
    is_right = said.isascii() and said.isdecimal() and len(said) < 10 and int(said) <= MOST_PROCESSES
    return (
        "" if is_right else f"must be a whole number from 0 to {MOST_PROCESSES}, not '{truncate(said, 60)}'"
    )
