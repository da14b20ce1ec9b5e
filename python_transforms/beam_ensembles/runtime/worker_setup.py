"""What a Python worker needs before Beam's harness runs in it."""

from __future__ import annotations

import gc
from typing import Final

from beam_ensembles.beam_repairs import (
    bundle_ends,
    bundle_errors,
    inference_imports,
    log_prefixes,
    metric_ids,
    received_rows,
)

_YOUNG_OBJECTS: Final = 10_000
"""Objects between two runs of the garbage collector. Rows come and go by the thousand and hold no cycles; Python's
own 700 has the collector walk each batch several times, which costs a tenth of a light ensemble's throughput."""


def prepare() -> None:
    """Prepares this process for ensembles; to be called once, before the harness is made.

    Beam's RunInference is imported without torch, before a pickled stage can import it with it.
    """
    gc.set_threshold(_YOUNG_OBJECTS)
    inference_imports.import_base()
    for repair in (received_rows, metric_ids, bundle_ends, bundle_errors, log_prefixes):
        repair.install()
