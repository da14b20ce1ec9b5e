"""A model handler of somebody's own, which loads a pickle."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from beam_ensembles.beam_repairs import inference_imports

_BASE: Any = inference_imports.import_base()


class PickledHandler(_BASE.ModelHandler):  # type: ignore[misc]
    """Loads whatever was pickled."""

    def __init__(self) -> None:
        self._path = ""

    def update_model_path(self, model_path: str | None = None) -> None:
        """Takes the place of the file."""
        self._path = model_path or ""

    def load_model(self) -> Any:
        """Loads the file."""
        return pickle.loads(Path(self._path).read_bytes())

    def run_inference(
        self, batch: Sequence[Any], model: Any, inference_args: dict[str, Any] | None = None
    ) -> Iterable[Any]:
        """Returns what the model says of each example."""
        return [model(one) for one in batch]


class MoodyHandler(PickledHandler):
    """Raises what nobody expects, before it is asked to load anything."""

    def share_model_across_processes(self) -> bool:
        """Raises as XGBoost does."""
        raise RuntimeError("no more\nStack trace:\n  [bt] (0) libmoody.so(+0x1)")
