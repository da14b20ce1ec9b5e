"""TensorRT's libraries, which PyPI does not have: they come from NVIDIA's own index, or with its images."""

from __future__ import annotations

import ctypes.util
import glob
import importlib.metadata
import importlib.util
import os
from typing import Final

from beam_ensembles.beam_repairs.inference_imports import TENSORRT_BINDINGS

_BINDINGS: Final = "tensorrt-cu13-bindings"
_LIBRARY: Final = "nvinfer"


def missing() -> str | None:
    """Returns which of TensorRT's libraries this machine lacks, without loading any; None where they seem to be there.

    Only where PyPI's bindings are all there is of TensorRT are they looked for: all else comes with them.
    """
    if (
        importlib.util.find_spec("tensorrt") is not None
        or importlib.util.find_spec(TENSORRT_BINDINGS) is None
    ):
        return None
    if importlib.util.find_spec("tensorrt_libs") is not None or _is_found():
        return None
    return f"only its bindings are installed; {how()}"


def how() -> str:
    """Returns what to do where the libraries are not there."""
    try:
        version = importlib.metadata.version(_BINDINGS)
    except importlib.metadata.PackageNotFoundError:
        version = "VERSION"
    command = f"pip install --extra-index-url https://pypi.nvidia.com tensorrt-cu13-libs=={version}"
    return f"TensorRT's libraries come from NVIDIA: {command}, or with an image of NVIDIA's of that version"


def _is_found() -> bool:
    folders = filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep))
    return (
        any(glob.glob(os.path.join(glob.escape(folder), f"lib{_LIBRARY}.so*")) for folder in folders)
        or ctypes.util.find_library(_LIBRARY) is not None
    )
