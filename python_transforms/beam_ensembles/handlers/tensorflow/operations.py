"""The operations of TensorFlow that only compute: those that a SavedModel may have without being trusted."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("operations.txt")
"""One name a line, written by ``python -m scripts.tensorflow_operations`` from TensorFlow's own registry."""


@functools.cache
def computing() -> frozenset[bytes]:
    """Returns the names of the operations, as they stand in a graph."""
    return frozenset(FILE.read_bytes().split())
