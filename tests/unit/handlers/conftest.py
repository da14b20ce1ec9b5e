"""Models of every framework, made once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.models import make_sklearn, make_xgboost, write_graph
from tests.support.stand_in_gpu import full_gpu, stand_in_gpu

__all__ = ["full_gpu", "stand_in_gpu"]


@pytest.fixture(scope="session")
def sklearn_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with scikit-learn models."""
    folder = tmp_path_factory.mktemp("sklearn")
    make_sklearn(folder)
    return folder


@pytest.fixture(scope="session")
def xgboost_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with XGBoost models, each as JSON and as UBJSON."""
    folder = tmp_path_factory.mktemp("xgboost")
    make_xgboost(folder)
    return folder


@pytest.fixture(scope="session")
def tensorflow_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with TensorFlow models, see ``make_tensorflow``."""
    from tests.support.tensorflow_models import make_tensorflow

    folder = tmp_path_factory.mktemp("tensorflow")
    make_tensorflow(folder)
    return folder


@pytest.fixture(scope="session")
def onnx_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ONNX graphs.

    ``double.onnx`` gives twice its ``X`` [N, 2], ``sum.onnx`` the sum of ``a`` and ``b`` and their product,
    ``shout.onnx`` its text, ``fixed.onnx`` takes one row at a time, ``open.onnx`` any number of columns.
    """
    folder = tmp_path_factory.mktemp("onnx")
    pair = ("X", "FLOAT", ["N", 2])
    write_graph(folder / "double.onnx", [("Add", ["X", "X"], ["Y"], {})], [pair], [("Y", "FLOAT", ["N", 2])])
    write_graph(
        folder / "sum.onnx",
        [("Add", ["a", "b"], ["total"], {}), ("Mul", ["a", "b"], ["product"], {})],
        [("a", "DOUBLE", ["N", 1]), ("b", "DOUBLE", ["N", 1])],
        [("total", "DOUBLE", ["N", 1]), ("product", "DOUBLE", ["N", 1])],
    )
    text = ("words", "STRING", ["N"])
    write_graph(
        folder / "echo.onnx", [("Identity", ["words"], ["same"], {})], [text], [("same", "STRING", ["N"])]
    )
    fixed = ("X", "FLOAT", [1, 2])
    write_graph(folder / "fixed.onnx", [("Add", ["X", "X"], ["Y"], {})], [fixed], [("Y", "FLOAT", [1, 2])])
    wide = ("X", "FLOAT", ["N", "F"])
    write_graph(folder / "open.onnx", [("Add", ["X", "X"], ["Y"], {})], [wide], [("Y", "FLOAT", ["N", "F"])])
    counts = ("X", "INT64", ["N", 2])
    write_graph(
        folder / "counts.onnx", [("Add", ["X", "X"], ["Y"], {})], [counts], [("Y", "INT64", ["N", 2])]
    )
    return folder
