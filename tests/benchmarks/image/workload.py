"""A PNG file a row and a small convolutional network: bytes cross, and decoding them is part of the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import apache_beam as beam
import numpy as np

from beam_ensembles.beam_repairs.inference_imports import import_handlers
from scripts.made import Made
from tests.benchmarks.bare import Array
from tests.benchmarks.image import bare, train
from tests.benchmarks.workload import FEW, Workload

HERE: Final = Path(__file__).resolve().parent
MODELS: Final = HERE / "models"

_TRAINED: Final = Made(
    MODELS / ".made", (MODELS / "network.pt",), lambda: [HERE / "train.py", HERE / "bare.py"]
)


class Image:
    """The image ensemble."""

    name = "image"
    ensemble = HERE / "image.yaml"
    models = MODELS
    fields: Sequence[tuple[str, Any]] = (("picture", bytes),)

    def prepare(self) -> Array:
        """Makes the network where needed; the pictures are made up, the same on every run."""
        _TRAINED.make(lambda: train.train(MODELS))
        return np.array(train.pictures(FEW), object)

    def as_fields(self, values: bytes) -> dict[str, Any]:
        """Gives the file."""
        return {"picture": values}

    def keyed(self, row: Any) -> tuple[int, Any]:
        """Gives the id and the picture, decoded and scaled: ``[3, 64, 64]``."""
        return row.id, bare.scaled(np.array([row.picture], object))[0]

    def handlers(self) -> Mapping[str, Any]:
        """Gives the handler of the network."""
        inference = import_handlers("pytorch_inference")
        handler = inference.PytorchModelHandlerTensor(
            state_dict_path=str(MODELS / "network.pt"),
            model_class=bare.new_network,
            model_params={},
            min_batch_size=bare.ROWS,
            max_batch_size=bare.ROWS,
        )
        return {"network": handler}

    def joined(self, grouped: tuple[int, Mapping[str, Sequence[Any]]]) -> Any:
        """Names the class with the greatest probability."""
        id_, found = grouped
        (network,) = found["network"]
        proba = network.inference.softmax(-1)
        best = int(proba.argmax())
        return beam.Row(id=id_, label=bare.LABELS[best], confidence=float(proba[best]))

    def answer(self, row: Any) -> float:
        """Gives the probability of the class."""
        return float(row.confidence)


WORKLOAD: Final[Workload] = Image()
