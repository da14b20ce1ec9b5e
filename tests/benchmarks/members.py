"""The members behind Beam's own handlers, as an expert sets them up: whole batches, no work per row.

XGBoost's default in Beam makes one matrix per row; scikit-learn's calls ``predict``, where a vote needs probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from beam_ensembles.beam_repairs.inference_imports import import_base, import_handlers
from tests.benchmarks.digits.workload import session_options
from tests.benchmarks.workload import ARROW_BATCH, BATCH, Array

base = import_base()


def batches_of(rows: int) -> dict[str, Any]:
    """Returns the arguments of a handler for batches of that many rows."""
    return {"min_batch_size": rows, "max_batch_size": rows}


def sklearn(uri: str, batch: int = BATCH) -> Any:
    """Returns the handler of a classifier saved with joblib."""
    beam = import_handlers("sklearn_inference")
    return beam.SklearnModelHandlerNumpy(
        uri, beam.ModelFileType.JOBLIB, inference_fn=_probabilities, **batches_of(batch)
    )


def xgboost(uri: str, batch: int = BATCH) -> Any:
    """Returns the handler of boosted trees saved as JSON."""
    beam = import_handlers("xgboost_inference")
    return beam.XGBoostModelHandlerNumpy(beam.xgboost.Booster, uri, _predict_in_place, **batches_of(batch))


def onnx(uri: str, batch: int = BATCH) -> Any:
    """Returns the handler of an ONNX graph with one input of float and one output."""
    beam = import_handlers("onnx_inference")

    class Quiet(beam.OnnxModelHandlerNumpy):  # type: ignore[misc, name-defined]
        def load_model(self) -> Any:
            self._session_options = session_options()  # cannot be pickled, so not given before
            return super().load_model()

    return Quiet(uri, providers=["CPUExecutionProvider"], **batches_of(batch))


def keyed(framework: str, uri: str) -> Any:
    """Returns the handler of pairs of a key and a list of features, as they come from Go.

    Args:
        framework: Name of a function of this module.
        uri: The model's file.
    """
    make = {"sklearn": sklearn, "xgboost": xgboost, "onnx": onnx}[framework]
    return base.KeyedModelHandler(make(uri, ARROW_BATCH)).with_preprocess_fn(_with_array)


def _with_array(pair: tuple[Any, Sequence[float]]) -> tuple[Any, Array]:
    return pair[0], np.asarray(pair[1], np.float32)


def _probabilities(model: Any, batch: Sequence[Array], inference_args: Any = None) -> Any:
    return model.predict_proba(np.stack(batch))


def _predict_in_place(batch: Sequence[Array], model: Any, inference_args: Any = None) -> Iterable[Any]:
    answers = model.inplace_predict(np.stack(batch))
    return [base.PredictionResult(example, answer) for example, answer in zip(batch, answers, strict=True)]
