"""One server for all tests that only ask it and call it."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import numpy as np
import pytest

from tests.support.open_inference import FakeServer, Model, Refusal, Tensors, served


def double(given: Tensors) -> Tensors:
    """Returns twice its ``x``."""
    return {"y": given["x"] * np.array(2, given["x"].dtype)}


def same(given: Tensors) -> Tensors:
    """Returns what it is given."""
    return {"y": given["x"]}


def picky(given: Tensors) -> Tensors:
    """Doubles, and refuses negative numbers."""
    if (given["x"] < 0).any():
        raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, "a negative\nnumber")
    return double(given)


MODELS = {
    "double": Model(double, [("x", "FP32", [-1, 2])], [("y", "FP32", [-1, 2])]),
    "counts": Model(double, [("x", "INT64", [-1])], [("y", "INT64", [-1])]),
    "pixels": Model(same, [("x", "UINT8", [-1])], [("y", "UINT8", [-1])]),
    "words": Model(same, [("x", "BYTES", [-1, 1])], [("y", "BYTES", [-1, 1])]),
    "half": Model(same, [("x", "FP16", [-1, 2])], [("y", "FP16", [-1, 2])]),
    "ragged": Model(lambda given: {"y": given["x"][:, :-1]}, [("x", "FP32", [-1, -1])], [("y", "FP32", [-1, -1])]),
    "two": Model(
        lambda given: {"sum": given["a"] + given["b"], "difference": given["a"] - given["b"]},
        [("a", "FP64", [-1, 1]), ("b", "FP64", [-1, 1])],
        [("sum", "FP64", [-1, 1]), ("difference", "FP64", [-1, 1])],
    ),
    "versioned": Model(double, [("x", "FP32", [-1, 2])], [("y", "FP32", [-1, 2])], version="3"),
    "silent": Model(double),
    "picky": Model(picky, [("x", "FP64", [-1, 1])], [("y", "FP64", [-1, 1])]),
    "fixed": Model(double, [("x", "FP32", [4, 2])], [("y", "FP32", [4, 2])]),
    "brain": Model(double, [("x", "BF16", [-1, 2])], [("y", "BF16", [-1, 2])]),
    "short": Model(lambda given: {"y": given["x"][:-1]}, [("x", "FP64", [-1, 1])], [("y", "FP64", [-1, 1])]),
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[FakeServer]:
    """Returns a server of ``MODELS``; ``silent`` says nothing of its inputs and outputs."""
    with served(MODELS) as fake:
        yield fake
