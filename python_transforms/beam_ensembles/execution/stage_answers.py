"""What a process in which a stage runs sends to its worker."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from beam_ensembles.errors import EnsembleError
from beam_ensembles.graph.class_meanings import Meaning

if TYPE_CHECKING:
    import numpy as np

    from beam_ensembles.columns.batch import RowFailure
    from beam_ensembles.execution.node_metrics import Update


@dataclasses.dataclass(frozen=True, slots=True)
class Scored:
    """What a stage makes of a batch.

    Attributes:
        rows: The rows that are still being scored.
        columns: The columns that it adds, one leading item per row.
        failures: The rows that have left.
        meanings: The known meanings of the columns.
    """

    rows: np.ndarray
    columns: Mapping[str, np.ndarray]
    failures: list[RowFailure]
    meanings: Mapping[str, Meaning]


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What the process sends for each thing that it is sent.

    Attributes:
        found: What became of a batch; None of the stage itself, once it is loaded; or why there is no such thing.
        updates: What its nodes write to their metrics.
        records: The log records written meanwhile.
    """

    found: Scored | EnsembleError | None
    updates: list[Update]
    records: list[logging.LogRecord]
