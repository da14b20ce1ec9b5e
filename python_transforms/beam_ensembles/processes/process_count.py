"""The number of processes for each stage of a worker: ``--stage-processes``. Imports little, for the command line."""

from __future__ import annotations

import os
from typing import Final

from beam_ensembles.errors import EnsembleError
from beam_ensembles.messages.printable import truncate

PROCESSES_VARIABLE: Final = "BEAM_ENSEMBLES_STAGE_PROCESSES"
"""Names the environment variable that says it to a worker; 1, the default, is the worker itself."""
MOST_PROCESSES: Final = 256
HELP: Final = (
    "run an ensemble in this many processes of each worker started here; each process loads the models "
    f"(default: ${PROCESSES_VARIABLE}, otherwise 1, the worker itself)"
)
"""What a flag that sets it says."""


def count_of_processes() -> int:
    """Returns what the environment sets; an empty variable counts as not set.

    Raises:
        EnsembleError: The variable is not a valid number.
    """
    said = os.environ.get(PROCESSES_VARIABLE, "").strip() or "1"
    if wrong := wrong_count(said):
        raise EnsembleError(f"${PROCESSES_VARIABLE} {wrong}")
    return int(said)


def wrong_count(said: str) -> str:
    """Returns what is wrong with a number of processes, as the end of a sentence; nothing where it is right."""
    is_right = said.isascii() and said.isdecimal() and len(said) < 10 and 1 <= int(said) <= MOST_PROCESSES
    return (
        "" if is_right else f"must be a whole number from 1 to {MOST_PROCESSES}, not '{truncate(said, 60)}'"
    )
