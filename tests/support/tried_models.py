"""Models that are right for some batches only, or differently wrong, for the tests of trials."""

from __future__ import annotations

import importlib
import itertools
import os
import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from apache_beam.ml.inference.base import ModelHandler, RemoteModelHandler

HERE: Final = "tests.support.tried_models"
_DRAWN = itertools.count(1)
CALLS: list[int] = []
"""How many rows each call got, in this process."""


class Estimator:
    """An estimator whose answer is a function of the rows; ``way`` says which."""

    def __init__(self, way: str) -> None:
        self.way = way

    def predict(self, x: Any) -> Any:
        CALLS.append(len(x))
        return getattr(self, f"_{self.way}")(np.asarray(x))

    def _good(self, x: np.ndarray) -> Any:
        return x.sum(axis=1)

    def _pairs_only(self, x: np.ndarray) -> Any:
        if len(x) < 2:
            raise ValueError("Expected more than 1 value per channel")
        return x.sum(axis=1)

    def _singles_only(self, x: np.ndarray) -> Any:
        if len(x) > 1:
            raise ValueError("batch must be 1")
        return x.sum(axis=1)

    def _loss(self, x: np.ndarray) -> Any:
        return x.sum()

    def _wide(self, x: np.ndarray) -> Any:
        return x

    def _mixing(self, x: np.ndarray) -> Any:
        return (x - x.mean(axis=0)).sum(axis=1)

    def _running(self, x: np.ndarray) -> Any:
        return x.cumsum(axis=0).sum(axis=1)

    def _random(self, x: np.ndarray) -> Any:
        return x.sum(axis=1) * next(_DRAWN)

    def _rounding(self, x: np.ndarray) -> Any:
        return x.sum(axis=1) * (1 + len(x) * 1e-5)

    def _picky(self, x: np.ndarray) -> Any:
        raise ValueError("Found unknown categories ['one'] in column 0")

    def _old(self, x: np.ndarray) -> Any:
        return self.monotonic_cst  # type: ignore[attr-defined]

    def _module(self, x: np.ndarray) -> Any:
        importlib.import_module("a_module_that_is_gone")

    def _numpy(self, x: np.ndarray) -> Any:
        return getattr(np, "a_name_that_is_gone")(x)  # noqa: B009

    def _nothing_found(self, x: np.ndarray) -> Any:
        found: Any = None
        return found.group(1)

    def _exits(self, x: np.ndarray) -> Any:
        raise SystemExit(3)

    def _dies(self, x: np.ndarray) -> Any:
        if (x < 2).any():
            os._exit(7)
        return x.sum(axis=1)

    def _hangs(self, x: np.ndarray) -> Any:
        if (x < 2).any():
            time.sleep(600)
        return x.sum(axis=1)


class Handler(ModelHandler[Any, Any, Any]):
    """A handler of one's own around such an estimator."""

    def __init__(self, way: str = "good", shared: bool = False) -> None:
        super().__init__()
        self._way, self._shared = way, shared

    def load_model(self) -> Estimator:
        return Estimator(self._way)

    def share_model_across_processes(self) -> bool:
        return self._shared

    def run_inference(self, batch: Sequence[Any], model: Estimator, inference_args: Any = None) -> Any:
        return list(model.predict(np.stack(batch)))


class Remote(RemoteModelHandler[Any, Any, Any]):
    """A handler whose every call costs money."""

    def __init__(self) -> None:
        super().__init__(namespace="remote", retry_filter=lambda _: False)

    def create_client(self) -> Estimator:
        return Estimator("good")

    def request(self, batch: Sequence[Any], model: Estimator, inference_args: Any = None) -> Any:
        return list(model.predict(np.stack(batch)))
