"""Errors of memory and of devices, in the words of every framework.

Each framework, and each library that it calls on a GPU, says in its own words that memory ran out or that CUDA's
context has ended. Nothing is imported to find out which it is.
"""

from __future__ import annotations

import re
from typing import Final

_OUT_OF_MEMORY: Final = re.compile(
    r"can't allocate memory|CUDA error: out of memory|CUDA out of memory|HIP out of memory|cudaErrorMemoryAllocation"
    r"|CUDA_ERROR_OUT_OF_MEMORY|CUDA failure 2\b|CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED"
    r"|CUDNN_STATUS_INTERNAL_ERROR_(?:DEVICE|HOST)_ALLOCATION_FAILED|CUSOLVER_STATUS_ALLOC_FAILED|CUFFT_ALLOC_FAILED"
    r"|Failed to allocate memory for requested buffer|BFCArena::AllocateRawInternal|\bOOM when allocating"
    r"|Memory allocation error on (?:worker|device)",
    re.IGNORECASE,
)
"""What PyTorch, CUDA's libraries, ONNX Runtime, TensorFlow, TensorRT and XGBoost say where memory runs out.

PyTorch's allocator raises but a ``RuntimeError`` on a CPU, and so do the libraries that it calls on a GPU.
"""
_CONTEXT_ENDED: Final = re.compile(
    r"device-side assert|illegal memory access|illegal instruction was encountered|misaligned address"
    r"|unspecified launch failure|launch timed out|uncorrectable (?:ECC|NVLink)|hardware stack error"
    r"|invalid program counter"
    r"|cudaError(?:Assert|Illegal\w+|MisalignedAddress|LaunchFailure|ECCUncorrectable|HardwareStackError|InvalidPc)"
    r"|CUDA_ERROR_(?:ASSERT|ILLEGAL_\w+|MISALIGNED_ADDRESS|LAUNCH_FAILED|ECC_UNCORRECTABLE|HARDWARE_STACK_ERROR)"
    r"|CUDA failure (?:214|700|702|71\d)\b",
    re.IGNORECASE,
)
"""Messages of frameworks after CUDA's context has ended: all that the process asks the device from then on fails."""
_OF_A_DEVICE: Final = re.compile(
    r"CUDA (?:error|driver|failure)|CUBLAS_STATUS|CUDNN_STATUS|CUSOLVER_STATUS|CUFFT_|cudaError|no kernel image"
)
_CLASSES: Final = frozenset(("MemoryError", "OutOfMemoryError", "ResourceExhaustedError"))
"""Classes of Python, PyTorch and TensorFlow."""


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether a framework ran out of memory, on a device or not."""
    return any(kind.__name__ in _CLASSES for kind in type(error).__mro__) or _says(_OUT_OF_MEMORY, error)


def ends_context(error: BaseException) -> bool:
    """Returns whether CUDA's context has ended, so that only another process can use the device again."""
    return not is_out_of_memory(error) and _says(_CONTEXT_ENDED, error)


def is_device_error(error: BaseException) -> bool:
    """Returns whether a device failed, or ran out of memory."""
    return is_out_of_memory(error) or ends_context(error) or _says(_OF_A_DEVICE, error)


def _says(words: re.Pattern[str], error: BaseException) -> bool:
    try:
        return words.search(str(error)[:20_000]) is not None
    except Exception:  # an exception of somebody else's may fail to say anything
        return False
