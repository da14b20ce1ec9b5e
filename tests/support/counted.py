"""An ensemble whose nodes count everything that there is to count: ``tests/golden/metrics/counted.*``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

_FOLDER: Final = Path(__file__).parents[1] / "golden" / "metrics"
_DATA: Final = json.loads((_FOLDER / "counted.json").read_text(encoding="utf-8"))

FILE: Final = _FOLDER / "counted.yaml"
ROWS: Final[list[dict[str, Any]]] = _DATA["rows"]
COUNTS: Final[dict[str, Any]] = _DATA["counts"]
"""How often which node counts what; ``rows`` are those of all its batches."""


def counts(metrics: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns by node what depends neither on bundles nor on time, without zeros.

    Args:
        metrics: One ensemble's, as ``beam-ensembles metrics --json`` gives them.
    """
    names = ("num_inferences", "failed_rows", "skipped_rows", "arms", "agreements", "disagreements")
    return {
        node["node"]: {
            **{name: node[name] for name in names if node[name]},
            "rows": node["inference_request_batch_size"]["sum"],
        }
        for node in metrics["nodes"]
    }
