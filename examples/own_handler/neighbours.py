"""A model handler of one's own: the digit of the nearest known images, in plain numpy.

Every method that a handler may have is here, with what ``model: python`` does with it. A real handler needs the first
two only; the others have defaults in ``ModelHandler``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from apache_beam.ml.inference.base import ModelHandler, PredictionResult


@dataclasses.dataclass(frozen=True)
class Known:
    """The images that the model knows. RunInference keeps weak references to models: tuples and slots have none.

    Attributes:
        pixels: One image a row, float64 [N, 64].
        digits: Which digit each shows, int64 [N].
    """

    pixels: np.ndarray
    digits: np.ndarray


class NearestNeighbours(ModelHandler[np.ndarray, PredictionResult, Known]):
    """Returns for each image the digit that most of its nearest neighbours show.

    Args:
        neighbours: The number of neighbours that vote; from ``config`` in the file.
        max_batch_size: The most images of one call.
    """

    def __init__(self, neighbours: int = 5, *, max_batch_size: int = 256, **kwargs: Any) -> None:
        super().__init__(max_batch_size=max_batch_size, **kwargs)
        self._neighbours = neighbours
        self._path = ""

    def load_model(self) -> Known:
        """Called once per worker process, after the environment variables of ``config`` are set."""
        with np.load(self._path, allow_pickle=False) as arrays:
            return Known(arrays["pixels"], arrays["digits"])

    def run_inference(
        self, batch: Sequence[np.ndarray], model: Known, inference_args: dict[str, Any] | None = None
    ) -> Iterable[PredictionResult]:
        """Called with the examples of some rows; gives a prediction for each, in order.

        A prediction that is an exception is the error of its row alone. The keys of a mapping are the node's ports.
        """
        pixels = np.stack(batch)
        squares = ((pixels[:, None, :] - model.pixels[None, :, :]) ** 2).sum(axis=2)
        for example, distances in zip(batch, squares, strict=True):
            if not np.isfinite(distances).all():
                yield PredictionResult(example, ValueError("a pixel is not a number"))
                continue
            nearest = np.argsort(distances, kind="stable")[: self._neighbours]
            votes = np.bincount(model.digits[nearest], minlength=10)
            digit = int(votes.argmax())
            yield PredictionResult(example, {"digit": digit, "votes": int(votes[digit])})

    def update_model_path(self, model_path: str | None = None) -> None:
        """Called with the path of the node's ``uri``, once the file is known to be the pinned or trusted one."""
        self._path = model_path or self._path

    def get_num_bytes(self, batch: Sequence[np.ndarray]) -> int:
        """Not called: the node's metrics count the bytes of the columns that it reads."""
        return sum(image.nbytes for image in batch)

    def get_metrics_namespace(self) -> str:
        """Not called: the metrics of a node are those of ``<ensemble>/<node>``."""
        return "NearestNeighbours"

    def get_resource_hints(self) -> dict[str, Any]:
        """Looked at when the handler is made: hints must be known before, so that a worker warns of any."""
        return {}

    def batch_elements_kwargs(self) -> Mapping[str, Any]:
        """``max_batch_size``, weights and buckets are honoured for each call, whatever other nodes do."""
        return super().batch_elements_kwargs()

    def validate_inference_args(self, inference_args: dict[str, Any] | None) -> None:
        """Called before the model is loaded, with the node's ``inference_args``."""
        if inference_args:
            raise ValueError(f"there is nothing to set, but {', '.join(inference_args)} was given")

    def share_model_across_processes(self) -> bool:
        """Where it is true, the node runs in a process of its own, which all workers of a machine use."""
        return super().share_model_across_processes()


def brightened(pixels: np.ndarray) -> np.ndarray:
    """A preprocess function: stretches an image's pixels to 0 to 16, as those that the model knows."""
    brightest = pixels.max()
    return pixels * (16.0 / brightest) if brightest > 0 else pixels
