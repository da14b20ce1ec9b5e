"""``config``: the tables say what Beam's handlers really take, and every argument is honoured or refused."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.handlers.onnx.model import CONFIG_HONOURED as ONNX_HONOURED
from beam_ensembles.handlers.onnx.model import CONFIG_REFUSED as ONNX_REFUSED
from beam_ensembles.handlers.sklearn.model import CONFIG_REFUSED as SKLEARN_REFUSED
from beam_ensembles.handlers.support.beam_config import HONOURED, Accepted, batch_limit
from beam_ensembles.handlers.xgboost.model import CONFIG_REFUSED as XGBOOST_REFUSED
from tests.support.nodes import check_node, load_node, problems_of

PAIR = {"x": "array<float>[2]"}
DOUBLE = {"model": "onnx", "uri": "double.onnx", "inputs": ["x"], "outputs": {"y": None}}


@pytest.mark.parametrize(
    ("module", "handler", "honoured", "refused"),
    [
        ("sklearn_inference", "SklearnModelHandlerNumpy", HONOURED, SKLEARN_REFUSED),
        ("onnx_inference", "OnnxModelHandlerNumpy", ONNX_HONOURED, ONNX_REFUSED),
        ("xgboost_inference", "XGBoostModelHandlerNumpy", HONOURED, XGBOOST_REFUSED),
    ],
)
def test_the_tables_are_beams_own_arguments(
    module: str, handler: str, honoured: Mapping[str, Accepted], refused: Mapping[str, str]
) -> None:
    own = inspect.signature(getattr(inference_imports.import_handlers(module), handler).__init__).parameters
    base = inspect.signature(inference_imports.import_base().ModelHandler.__init__).parameters
    # env_vars is read from the handlers' **kwargs.
    assert honoured.keys() | refused.keys() == (own.keys() | base.keys() | {"env_vars"}) - {"self", "kwargs"}
    assert not honoured.keys() & refused.keys()


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"min_batch_size": 4}, ("unsupported_option", "config.min_batch_size")),
        ({"max_batch_duration_secs": 1}, ("unsupported_option", "config.max_batch_duration_secs")),
        ({"large_model": "yes"}, ("bad_value", "config.large_model")),
        ({"model_copies": 0}, ("bad_value", "config.model_copies")),
        ({"inference_fn": "f"}, ("unsupported_option", "config.inference_fn")),
        ({"max_batchsize": 2}, ("unknown_option", "config.max_batchsize")),
        ({"max_batch_size": 0}, ("bad_value", "config.max_batch_size")),
        ({"max_batch_size": True}, ("bad_value", "config.max_batch_size")),
        ({"env_vars": {"A": 1}}, ("bad_value", "config.env_vars")),
        (["max_batch_size"], ("wrong_type", "config")),
    ],
)
def test_what_cannot_be_honoured_is_refused(onnx_models: Path, config: Any, problem: tuple[str, str]) -> None:
    assert problems_of(onnx_models, PAIR, DOUBLE | {"config": config}) == [problem]


def test_max_batch_size_is_the_nodes_limit(onnx_models: Path) -> None:
    assert batch_limit(check_node(onnx_models, PAIR, DOUBLE)) is None
    limited = DOUBLE | {"config": {"max_batch_size": 7}}
    assert batch_limit(check_node(onnx_models, PAIR, limited)) == 7
    assert load_node(onnx_models, PAIR, limited)({"x": np.ones((3, 2), np.float32)})["y"].shape == (3, 2)
