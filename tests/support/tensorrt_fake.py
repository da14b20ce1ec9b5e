"""What TensorRT and CUDA look like to an engine's runner: a stand-in that computes on the processor.

"Memory of the GPU" is memory of this process of which every size is known, so that a copy beyond its end is found.
"""

from __future__ import annotations

import ctypes
import dataclasses
import enum
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]


class CudaError(enum.Enum):
    cudaSuccess = 0
    cudaErrorMemoryAllocation = 2
    cudaErrorIllegalAddress = 700


class Cuda:
    """``cuda.bindings.runtime``."""

    cudaError_t = CudaError
    cudaMemcpyKind = SimpleNamespace(cudaMemcpyHostToDevice="to", cudaMemcpyDeviceToHost="from")

    def __init__(self, devices: int = 1, room: int = 1 << 20) -> None:
        self.memory: dict[int, Any] = {}
        self.devices, self.room = devices, room

    def cudaGetDeviceCount(self) -> tuple[Any, ...]:
        return CudaError.cudaSuccess, self.devices

    def cudaStreamCreate(self) -> tuple[Any, ...]:
        return CudaError.cudaSuccess, 7

    def cudaStreamSynchronize(self, stream: int) -> tuple[Any, ...]:
        return (CudaError.cudaSuccess,)

    def cudaMalloc(self, size: int) -> tuple[Any, ...]:
        if sum(map(len, self.memory.values())) + size > self.room:
            return CudaError.cudaErrorMemoryAllocation, None
        buffer = (ctypes.c_char * size)()
        self.memory[ctypes.addressof(buffer)] = buffer
        return CudaError.cudaSuccess, ctypes.addressof(buffer)

    def cudaFree(self, address: int) -> tuple[Any, ...]:
        del self.memory[address]
        return (CudaError.cudaSuccess,)

    def cudaMemcpyAsync(self, to: int, of: int, size: int, kind: str, stream: int) -> tuple[Any, ...]:
        here = to if kind == "to" else of
        assert stream == 7
        if here not in self.memory or size > len(self.memory[here]):
            return (CudaError.cudaErrorIllegalAddress,)
        ctypes.memmove(to, of, size)
        return (CudaError.cudaSuccess,)


@dataclasses.dataclass
class FakeEngine:
    """``ICudaEngine`` and its ``IExecutionContext``.

    Attributes:
        cuda: Where its tensors are.
        given: Shape and dtype of each input; -1 is an open length.
        answers: The same of each output.
        compute: The outputs of the inputs.
        profile: Smallest and largest number of rows of inputs with an open one.
    """

    cuda: Cuda
    given: Mapping[str, tuple[Sequence[int], str]]
    answers: Mapping[str, tuple[Sequence[int], str]]
    compute: Callable[..., Mapping[str, Values]]
    profile: tuple[int, int] = (1, 8)
    runs: list[int] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        self._all = {**self.given, **self.answers}
        self._shapes: dict[str, tuple[int, ...]] = {}
        self._addresses: dict[str, int] = {}
        self.num_io_tensors = len(self._all)

    def get_tensor_name(self, at: int) -> str:
        return list(self._all)[at]

    def get_tensor_dtype(self, name: str) -> str:
        return self._all[name][1]

    def get_tensor_mode(self, name: str) -> str:
        return "in" if name in self.given else "out"

    def is_shape_inference_io(self, name: str) -> bool:
        return name == "shape"

    def get_tensor_profile_shape(self, name: str, profile: int) -> list[tuple[int, ...]]:
        dims = self.given[name][0]
        return [(rows, *dims[1:]) for rows in (self.profile[0], self.profile[1], self.profile[1])]

    def create_execution_context(self) -> FakeEngine:
        return self

    def set_input_shape(self, name: str, shape: tuple[int, ...]) -> bool:
        dims = self.given[name][0]
        lows, _, highs = self.get_tensor_profile_shape(name, 0)
        fits = [
            size == dim if dim >= 0 else low <= size <= high or at > 0
            for at, (dim, size, low, high) in enumerate(zip(dims, shape, lows, highs, strict=True))
        ]
        self._shapes[name] = shape
        return len(shape) == len(dims) and all(fits)

    def get_tensor_shape(self, name: str) -> tuple[int, ...]:
        dims = self._all[name][0]
        if not self._shapes or name in self.given:
            return tuple(dims)
        rows = next(iter(self._shapes.values()))[0]
        return (rows if dims[0] == -1 else dims[0], *dims[1:]) if dims else ()

    def set_tensor_address(self, name: str, address: int) -> bool:
        self._addresses[name] = address
        return True

    def execute_async_v3(self, stream: int) -> bool:
        given = {name: self._at(name, shape, self.given[name][1]) for name, shape in self._shapes.items()}
        self.runs.append(len(next(iter(given.values()))))
        for name, values in self.compute(**given).items():
            self._at(name, self.get_tensor_shape(name), self.answers[name][1])[...] = values
        return True

    def _at(self, name: str, shape: tuple[int, ...], dtype: str) -> Values:
        memory = self.cuda.memory[self._addresses[name]]
        count = int(np.prod(shape))
        assert count * np.dtype(dtype).itemsize <= len(memory)
        return np.frombuffer(memory, dtype, count).reshape(shape)


def fake_trt(engine: Any = None, version: str = "10.13.0") -> Any:
    """``tensorrt``: every plan is the engine that is given, None one that cannot be loaded."""

    def nptype(dtype: str) -> str:
        if dtype == "bfloat16":
            raise TypeError(dtype)
        return dtype

    return SimpleNamespace(
        __version__=version,
        TensorIOMode=SimpleNamespace(INPUT="in"),
        nptype=nptype,
        Runtime=lambda logger: SimpleNamespace(deserialize_cuda_engine=lambda plan: engine),
    )
