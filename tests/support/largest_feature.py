"""A model handler as a user writes one: names the largest of the features of a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np
from apache_beam.ml.inference.base import ModelHandler, PredictionResult

FEATURES: Final = ("sepal length", "sepal width", "petal length", "petal width")


class LargestFeature(ModelHandler):  # type: ignore[type-arg]
    """Takes arrays [4] and gives texts."""

    def load_model(self) -> Any:
        """Returns the names; Beam keeps weak references to models, so they are an array."""
        return np.array(FEATURES)

    def run_inference(
        self, batch: Sequence[Any], model: Any, inference_args: dict[str, Any] | None = None
    ) -> Iterable[PredictionResult]:
        """Names the largest feature of each row."""
        return [PredictionResult(example, str(model[np.argmax(example)])) for example in batch]
