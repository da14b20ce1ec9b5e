"""In which of its forms a TensorFlow model is, told by the node and the file's name."""

from __future__ import annotations

from typing import Final

CREATE: Final = "create_model_fn"
"""The node's key for the function that makes a model whose weights the file holds."""

SERVING: Final = "serving_default"
"""The signature that savers give a model unless they are told otherwise."""

SAVED_MODEL: Final = "saved_model"
KERAS: Final = "keras"
KERAS_H5: Final = "keras_h5"
WEIGHTS: Final = "weights"
_ENDINGS: Final = {".keras": KERAS, ".weights.h5": WEIGHTS, ".h5": KERAS_H5, ".hdf5": KERAS_H5}


def format_of(uri: str, *, makes_model: bool) -> str:
    """Returns the form of a node's model; what has none of the known endings is the folder of a SavedModel.

    Args:
        uri: Where the model is.
        makes_model: Whether the node names a function that makes it.
    """
    if makes_model:
        return WEIGHTS
    return next((form for ending, form in _ENDINGS.items() if uri.endswith(ending)), SAVED_MODEL)
