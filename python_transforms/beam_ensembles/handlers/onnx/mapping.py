"""An ONNX model's file as bytes that are read where they are needed."""

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Iterator

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.support.protobuf_wire import WireError


@contextlib.contextmanager
def mapped(path: str) -> Iterator[mmap.mmap]:
    """Maps a model's file to memory, for as long as the block lasts.

    Raises:
        ModelFormatError: The file is empty, or the block found that it is not an ONNX model.
        OSError: It cannot be read.
    """
    if os.path.getsize(path) == 0:
        raise ModelFormatError("the file is empty")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            yield data
        except (WireError, UnicodeDecodeError) as exc:
            raise ModelFormatError(f"the file is not an ONNX model ({exc})") from exc
