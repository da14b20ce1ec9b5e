"""A tensorflow node against Beam's own RunInference with the same handler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.beam_repairs import inference_imports
from tests.support.models import diabetes, iris
from tests.support.parity import assert_parity

SMALL = {"weights": None, "input_shape": [32, 32, 3], "alpha": 0.35, "classes": 5}
FLOATS = iris().x[::9].astype(np.float32)


@pytest.fixture
def models(tensorflow_models: Path) -> Path:
    return tensorflow_models


def rows_of(x: Any) -> list[dict[str, Any]]:
    return [{"x": row.tolist()} for row in x]


@pytest.mark.parametrize("handler", ["numpy", "tensor"])
@pytest.mark.parametrize(
    ("uri", "x", "wanted"),
    [
        ("iris.keras", FLOATS, "array<float>[3]"),
        ("double.keras", iris().x[::9], "array<double>[2]"),
        ("diabetes.keras", diabetes().x[::30].astype(np.float32), "float"),
    ],
)
def test_keras_models(models: Path, uri: str, x: Any, wanted: str, handler: str) -> None:
    beam = inference_imports.import_handlers("tensorflow_inference")
    node = {"model": "tensorflow", "uri": uri, "inputs": ["x"], "outputs": {"y": wanted}, "handler": handler}
    make = beam.TFModelHandlerNumpy if handler == "numpy" else beam.TFModelHandlerTensor
    assert_parity(
        models,
        {"x": f"array<double>[{x.shape[1]}]"},
        node,
        rows_of(x),
        make(str(models / uri), min_batch_size=len(x), max_batch_size=len(x)),
        list(x) if handler == "numpy" else [beam.tf.constant(row) for row in x],
        values=lambda inference: {
            "y": np.squeeze(inference.numpy()) if wanted == "float" else inference.numpy()
        },
    )


def test_weights_of_a_model_that_a_function_makes(models: Path) -> None:
    from tests.support.tensorflow_models import small_mobilenet

    beam = inference_imports.import_handlers("tensorflow_inference")
    small_mobilenet(**SMALL).save_weights(models / "mobile.weights.h5")
    x = np.random.default_rng(0).random((4, 32, 32, 3), np.float32)
    node = {
        "model": "tensorflow",
        "uri": "mobile.weights.h5",
        "create_model_fn": "keras.applications.mobilenet_v2.MobileNetV2",
        "model_params": SMALL,
        "inputs": ["x"],
        "outputs": {"y": "array<float>[5]"},
    }
    handler = beam.TFModelHandlerNumpy(
        str(models / "mobile.weights.h5"), beam.ModelType.SAVED_WEIGHTS, lambda: small_mobilenet(**SMALL)
    )
    assert_parity(
        models,
        {"x": "array<double>[32,32,3]"},
        node,
        [{"x": picture.reshape(-1).tolist()} for picture in x],
        handler,
        list(x),
        values=lambda inference: {"y": inference.numpy()},
    )


def test_a_saved_model(models: Path) -> None:
    """Keras 3 loads no SavedModel, and so neither does Beam's handler: it is shown how, as the node's is."""
    beam = inference_imports.import_handlers("tensorflow_inference")
    handler = beam.TFModelHandlerTensor(str(models / "plain"))
    handler.load_model = lambda: beam.tf.saved_model.load(str(models / "plain"))
    x = FLOATS[:, :2]
    node = {"model": "tensorflow", "uri": "plain", "inputs": ["x"], "outputs": {"y": "array<float>[2]"}}
    assert_parity(
        models,
        {"x": "array<double>[2]"},
        node,
        rows_of(x),
        handler,
        [beam.tf.constant(row) for row in x],
        values=lambda inference: {"y": inference.numpy()},
    )
