"""Quiet the logs of Beam and of the models' libraries, for verbs whose output is all that people want to read."""

from __future__ import annotations

import logging
import os

from beam_ensembles.logs import QUIET_VARIABLE


def quiet_libraries(verb: str) -> None:
    """Shows only errors of libraries, and warnings of this project, as the verb's."""
    logging.basicConfig(level=logging.ERROR, format=f"beam-ensembles {verb}: %(message)s")
    logging.getLogger("beam_ensembles").setLevel(logging.WARNING)
    os.environ.setdefault(QUIET_VARIABLE, "1")
