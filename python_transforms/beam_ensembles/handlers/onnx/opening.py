"""An ONNX model's file as bytes that are read where they are needed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.support.file_bytes import FileBytes, opened_bytes
from beam_ensembles.handlers.support.protobuf_wire import WireError


@contextlib.contextmanager
def opened(path: str) -> Iterator[FileBytes]:
    """Opens a model's file for as long as the block lasts.

    Raises:
        ModelFormatError: The file is empty, or the block found that it is not an ONNX model.
        OSError: It cannot be read.
    """
    with opened_bytes(path) as data:
        if not len(data):
            raise ModelFormatError("the file is empty")
        try:
            yield data
        except (WireError, UnicodeDecodeError) as exc:
            raise ModelFormatError(f"the file is not an ONNX model ({exc})") from exc
