"""The stage as a ``ModelHandler``: what Beam's RunInference loads, shares and runs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import apache_beam

import beam_ensembles
from beam_ensembles.columns.batch import RowBatch
from beam_ensembles.errors import EnsembleError
from beam_ensembles.handlers import beam_compat
from beam_ensembles.runtime.kinds import KINDS
from beam_ensembles.runtime.scoring import BatchResult, LoadedStage, StageCode, result_of

base = beam_compat.import_base()


class StageModelHandler(base.ModelHandler):  # type: ignore[misc, name-defined]
    """Runs a stage: one ``RowBatch`` in, one ``BatchResult`` out. Rows that fail are in the result, never raised.

    Args:
        code: What the stage does.
    """

    def __init__(self, code: StageCode) -> None:
        super().__init__()
        self._code = code

    def load_model(self) -> LoadedStage:
        """Loads every member of the stage, once a worker process."""
        return LoadedStage(self._code, KINDS)

    def run_inference(
        self, batch: RowBatch, model: LoadedStage, inference_args: Mapping[str, Any] | None = None
    ) -> Iterable[BatchResult]:
        """Scores one batch."""
        return [result_of(self._code, batch, model.score(batch.elements))]

    def should_skip_batching(self) -> bool:
        """Batches are made before: Beam's own batching loses the event time of rows."""
        return True

    def share_model_across_processes(self) -> bool:
        """Each process holds the stage; a member that is large is shared by itself."""
        return False

    def override_metrics(self, metrics_namespace: str = "") -> bool:
        """The stage writes the metrics of each node itself."""
        return True

    def get_num_bytes(self, batch: RowBatch) -> int:
        """Beam would pickle the batch to count it; the nodes count the bytes of their columns."""
        return 0

    def get_metrics_namespace(self) -> str:
        """The ensemble's name; nodes add theirs."""
        return self._code.ensemble

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (_versions(), self._code)


def _versions() -> dict[str, str]:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    return {
        "beam-ensembles": beam_ensembles.__version__,
        "apache-beam": apache_beam.__version__,
        "Python": python,
    }


def _restore(versions: Mapping[str, str], code: StageCode) -> StageModelHandler:
    """Rebuilds the handler on a worker, and refuses where the worker's versions are not those of the sender."""
    here = _versions()
    for name, version in versions.items():
        if here.get(name) != version:
            raise EnsembleError(
                f"ensemble '{code.ensemble}' was expanded with {name} {version}, but this worker has "
                f"{name} {here.get(name)}: the service and its workers must have the same versions"
            )
    return StageModelHandler(code)
