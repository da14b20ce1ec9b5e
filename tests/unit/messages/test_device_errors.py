"""What frameworks say where memory runs out, and where CUDA's context has ended."""

from __future__ import annotations

import pytest

from beam_ensembles.errors import OUT_OF_MEMORY, NodeError, TooLargeTogether
from beam_ensembles.messages.device_errors import ends_context, is_device_error, is_out_of_memory

OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {})
ResourceExhaustedError = type("ResourceExhaustedError", (Exception,), {})
Fail = type("Fail", (Exception,), {})

MEMORY = [
    MemoryError(),
    OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    ResourceExhaustedError("OOM when allocating tensor with shape[1024,1024]"),
    RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError(
        "[enforce fail at alloc_cpu.cpp:125] . DefaultCPUAllocator: can't allocate memory: you tried"
    ),
    Fail("BFCArena::AllocateRawInternal Available memory of 1 is smaller than requested bytes of 2"),
    Fail("Non-zero status code: Failed to allocate memory for requested buffer of size 4096"),
    Fail("CUDA failure 2: out of memory ; GPU=0"),
    RuntimeError("cudaError_t.cudaErrorMemoryAllocation"),
]
CONTEXT = [
    RuntimeError("CUDA error: device-side assert triggered"),
    RuntimeError("CUDA error: an illegal memory access was encountered"),
    RuntimeError("CUDA error: unspecified launch failure"),
    RuntimeError("CUDA error: uncorrectable ECC error encountered"),
    RuntimeError("CUDA error: misaligned address"),
    Fail("CUDA failure 700: an illegal memory access was encountered ; GPU=0"),
    RuntimeError("CUDA failed: cudaError_t.cudaErrorIllegalAddress"),
]
ROWS = [
    ValueError("a bad row"),
    IndexError("index out of range in self"),
    RuntimeError("The size of tensor a (600) must match the size of tensor b (512)"),
]


@pytest.mark.parametrize("error", MEMORY, ids=repr)
def test_memory_runs_out_in_the_words_of_each_framework(error: Exception) -> None:
    assert is_out_of_memory(error)
    assert is_device_error(error)
    assert not ends_context(error)
    found = NodeError.of(error)
    assert isinstance(found, TooLargeTogether)
    assert found.code == OUT_OF_MEMORY


@pytest.mark.parametrize("error", CONTEXT, ids=repr)
def test_a_context_ends_in_the_words_of_each_framework(error: Exception) -> None:
    assert ends_context(error)
    assert is_device_error(error)
    assert not is_out_of_memory(error)


@pytest.mark.parametrize("error", ROWS, ids=repr)
def test_a_row_that_is_wrong_is_neither(error: Exception) -> None:
    assert not is_device_error(error)
    assert NodeError.of(error).code == "model_error"


def test_an_error_that_can_say_nothing_is_neither() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert not is_device_error(Mute())
