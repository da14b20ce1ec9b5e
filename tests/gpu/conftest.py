"""What these tests need: an NVIDIA GPU. Where there is none each says what it lacks."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import pytest

from beam_ensembles.beam_repairs import inference_imports
from beam_ensembles.handlers.tensorrt import libraries


def _devices(cuda: Any) -> int:
    """Counts the GPUs that CUDA finds; without a driver it cannot even be asked."""
    with contextlib.suppress(RuntimeError):
        error, count = cuda.cudaGetDeviceCount()
        return int(count) if error == cuda.cudaError_t.cudaSuccess else 0
    return 0


@pytest.fixture(scope="session")
def torch_on_gpu() -> Any:
    """PyTorch, on a machine where it finds a GPU."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip(f"PyTorch {torch.__version__} finds no CUDA device")
    return torch


@pytest.fixture(scope="session")
def onnxruntime_on_gpu() -> Any:
    """ONNX Runtime with CUDA, on a machine with a GPU."""
    onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has no CUDAExecutionProvider; install onnxruntime-gpu in its place")
    torch = pytest.importorskip(
        "torch", reason="PyTorch, which says whether there is a GPU, is not installed"
    )
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    return onnxruntime


@pytest.fixture(scope="session")
def tensorrt_on_gpu() -> Any:
    """TensorRT, on a machine with a GPU."""
    try:
        trt = inference_imports.import_tensorrt()
        cuda = importlib.import_module("cuda.bindings.runtime")
    except ModuleNotFoundError as exc:
        pytest.skip(f"TensorRT is not installed ({exc}); pip install 'beam-ensembles[tensorrt]'")
    except (ImportError, OSError) as exc:
        pytest.skip(f"TensorRT cannot be loaded ({exc}); {libraries.how()}")
    if not _devices(cuda):
        pytest.skip(f"TensorRT {trt.__version__} is installed, but CUDA finds no device")
    return trt
