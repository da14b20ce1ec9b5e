"""An ensemble whose nodes count everything that there is to count: ``tests/golden/metrics/counted.*``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from beam_ensembles.execution.input_watch import WINDOW

_FOLDER: Final = Path(__file__).parents[1] / "golden" / "metrics"
_DATA: Final = json.loads((_FOLDER / "counted.json").read_text(encoding="utf-8"))

FILE: Final = _FOLDER / "counted.yaml"
ROWS: Final[list[dict[str, Any]]] = _DATA["rows"] * _DATA["times"]
COUNTS: Final[dict[str, Any]] = _DATA["counts"]
"""How often which node counts what; ``rows`` are those of all its batches."""

NEW: Final[dict[str, str]] = _DATA["new"]
"""What of each input its profile does not know, by the name of what counts that."""


def has_counted_what_is_new(metrics: Mapping[str, Any]) -> bool:
    """Whether each input was compared in whole windows, and each of these found to differ.

    Args:
        metrics: One ensemble's, as ``beam-ensembles metrics --json`` gives them.
    """
    counting = ("null_rows", "out_of_range_values", "unseen_values")
    return {one["column"]: [name for name in counting if one[name]] for one in metrics["inputs"]} == {
        column: [name] for column, name in NEW.items()
    } and all(
        one["compared_rows"] == WINDOW * one["drifted_windows"]
        and one["drifted_windows"] == one["population_stability_index_millionths"]["count"] > 0
        and one["population_stability_index_millionths"]["min"] >= 100_000
        for one in metrics["inputs"]
    )


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
