"""A text a row and a small transformer: strings cross, and the model is nearly all of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import apache_beam as beam
import numpy as np

from beam_ensembles.beam_repairs.inference_imports import import_handlers
from scripts.made import Made
from tests.benchmarks.bare import Array
from tests.benchmarks.text import bare, train
from tests.benchmarks.workload import FEW, Workload

HERE: Final = Path(__file__).resolve().parent
MODELS: Final = HERE / "models"

_TRAINED: Final = Made(
    MODELS / ".made", (MODELS / "classifier" / "model.safetensors",), lambda: [HERE / "train.py"]
)


def _of_list(batch: Sequence[str], pipeline: Any, inference_args: Mapping[str, Any]) -> Any:
    """Calls the pipeline with a batch at once, which it reads one by one where nobody says how many.

    It takes a tuple, as keyed handlers of Beam 2.77 hand it on, for a single text.
    """
    return pipeline(list(batch), batch_size=len(batch), **inference_args)


class Text:
    """The text ensemble."""

    name = "text"
    ensemble = HERE / "text.yaml"
    models = MODELS
    fields: Sequence[tuple[str, Any]] = (("text", str),)

    def prepare(self) -> Array:
        """Makes the model where needed; the texts are made up, the same on every run."""
        _TRAINED.make(lambda: train.train(MODELS))
        return np.array(train.texts(FEW), object)

    def as_fields(self, values: str) -> dict[str, Any]:
        """Gives the text."""
        return {"text": values}

    def keyed(self, row: Any) -> tuple[int, str]:
        """Gives the id and the text."""
        return row.id, row.text

    def handlers(self) -> Mapping[str, Any]:
        """Gives the handler of the model: transformers' own pipeline, which reads as many texts at once."""
        inference = import_handlers("huggingface_inference")
        handler = inference.HuggingFacePipelineModelHandler(
            task="text-classification",
            model=str(MODELS / "classifier"),
            inference_fn=_of_list,
            min_batch_size=bare.ROWS,
            max_batch_size=bare.ROWS,
        )
        return {"kind": handler}

    def joined(self, grouped: tuple[int, Mapping[str, Sequence[Any]]]) -> Any:
        """Gives the class and its probability beside the text."""
        id_, found = grouped
        (kind,) = found["kind"]
        return beam.Row(
            id=id_, text=kind.example, label=kind.inference["label"], score=kind.inference["score"]
        )

    def answer(self, row: Any) -> float:
        """Gives the probability of the class."""
        return float(row.score)


WORKLOAD: Final[Workload] = Text()
