"""Models that squeeze their answers: right for several rows, without the first dimension for one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import joblib
import numpy as np
from apache_beam.ml.inference.base import ModelHandler

from beam_ensembles.graph.kinds import Member
from tests.support.models import write_graph

HERE: Final = "tests.support.squeezing"
INPUT: Final = {"x": "array<float>[3]"}
X: Final = np.array([[0, 1, 2], [3, 4, 5], [1, 0, 1]], np.float32)
_TYPES: Final = {1: "float", 3: "array<float>[3]"}


def check_rows(member: Member, width: int) -> None:
    """Checks that rows get the same alone, in pairs and together."""
    wanted = answer_of(X, width)
    np.testing.assert_allclose(member({"x": X})["y"], wanted)
    for start, end in [(0, 1), (0, 2), (2, 3)]:
        found = member({"x": X[start:end]})["y"]
        assert found.shape == wanted[start:end].shape
        np.testing.assert_allclose(found, wanted[start:end])


def answer_of(x: np.ndarray, width: int) -> np.ndarray:
    """Returns what every model here answers: [N] for a width of 1, else [N, width]."""
    found: np.ndarray = x @ _weights(width)
    return found[:, 0] if width == 1 else found


def _weights(width: int) -> np.ndarray:
    return np.arange(3 * width, dtype=np.float32).reshape(3, width)


class Estimator:
    """An estimator of one's own for scikit-learn's kind."""

    def __init__(self, width: int) -> None:
        self.width = width

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(np.squeeze(x.astype(np.float32) @ _weights(self.width)))


class Texts:
    """An estimator that answers with a text."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.squeeze(np.where(x.sum(axis=1, keepdims=True) > 1, "many", "few"))


class Handler(ModelHandler[Any, Any, Any]):
    """A handler of one's own that returns the squeezed array itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self._width = width

    def load_model(self) -> Estimator:
        return Estimator(self._width)

    def run_inference(self, batch: Sequence[Any], model: Estimator, inference_args: Any = None) -> Any:
        return model.predict(np.stack(batch))


def mean(x: np.ndarray) -> Any:
    """Returns one number, whatever the rows are: wrong for a function of rows."""
    return x.mean()


def _ends(width: int) -> dict[str, Any]:
    return {"inputs": ["x"], "outputs": {"y": _TYPES[width]}}


def make_sklearn(folder: Path, width: int) -> dict[str, Any]:
    joblib.dump(Estimator(width), folder / f"squeeze{width}.joblib")
    return {"model": "sklearn", "uri": f"squeeze{width}.joblib"} | _ends(width)


def make_python(folder: Path, width: int) -> dict[str, Any]:
    return {"model": "python", "handler": f"{HERE}.Handler", "config": {"width": width}} | _ends(width)


def make_onnx(folder: Path, width: int) -> dict[str, Any]:
    from onnx import numpy_helper

    write_graph(
        folder / f"squeeze{width}.onnx",
        [("MatMul", ["X", "W"], ["Z"], {}), ("Squeeze", ["Z"], ["Y"], {})],
        [("X", "FLOAT", ["N", 3])],
        [("Y", "FLOAT", None)],
        [numpy_helper.from_array(_weights(width), "W")],
    )
    return {"model": "onnx", "uri": f"squeeze{width}.onnx"} | _ends(width)


def make_pytorch(folder: Path, width: int) -> dict[str, Any]:
    import torch

    class Squeeze(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.Parameter(torch.tensor(_weights(width)))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x @ self.weights).squeeze()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TorchScript is deprecated
        traced: Any = torch.jit.trace  # it has no types
        traced(Squeeze(), torch.ones(2, 3)).save(folder / f"squeeze{width}.pt")
    return {"model": "pytorch", "uri": f"squeeze{width}.pt"} | _ends(width)


def make_tensorflow(folder: Path, width: int) -> dict[str, Any]:
    import tensorflow as tf

    module = tf.Module()
    weights = tf.constant(_weights(width))
    spec = tf.TensorSpec([None, 3], tf.float32, name="x")
    module.call = tf.function(lambda x: {"y": tf.squeeze(x @ weights)}, input_signature=[spec])
    tf.saved_model.save(module, str(folder / f"squeeze{width}"), {"serving_default": module.call})
    return {"model": "tensorflow", "uri": f"squeeze{width}"} | _ends(width)
