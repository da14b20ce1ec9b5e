"""Whatever is in a model's file, reading its signature ends: with a signature, or with one sentence."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.onnx.graph import read_signature
from beam_ensembles.handlers.xgboost.header import read_header

IN_ONE_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def reads_or_refuses(read: Callable[[str], Any], error: type[Exception], path: Path, data: bytes) -> None:
    """Reads a file of this content; anything but a signature or this error is a failure."""
    path.write_bytes(data)
    with contextlib.suppress(error):
        assert read(str(path)) is not None


def changed(data: bytes, changes: list[tuple[int, int]]) -> bytes:
    """Returns data with some bytes replaced."""
    found = bytearray(data)
    for at, byte in changes:
        found[at % len(found)] = byte
    return bytes(found)


CHANGES = st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=8)


@IN_ONE_FOLDER
@given(CHANGES)
def test_a_changed_graph(onnx_models: Path, tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    whole = (onnx_models / "sum.onnx").read_bytes()
    reads_or_refuses(read_signature, ModelFormatError, tmp_path / "model.onnx", changed(whole, changes))


@IN_ONE_FOLDER
@given(st.binary(max_size=64))
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    reads_or_refuses(read_signature, ModelFormatError, tmp_path / "model.onnx", data)
    reads_or_refuses(read_header, ModelFormatError, tmp_path / "model.json", b"{" + data)


@pytest.mark.parametrize("ending", ["json", "ubj"])
@IN_ONE_FOLDER
@given(CHANGES)
def test_a_changed_header(
    xgboost_models: Path, tmp_path: Path, ending: str, changes: list[tuple[int, int]]
) -> None:
    tail = (xgboost_models / f"iris.{ending}").read_bytes()[-400:]
    data = b"{" + changed(tail, changes)
    reads_or_refuses(read_header, ModelFormatError, tmp_path / "model.json", data)
