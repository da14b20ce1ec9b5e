"""Runs a TensorRT engine on batches of any size. Written for TensorRT 10 and 11.

Beam's own way of running one (2.77) feeds the first input only, takes static shapes only, copies a whole engine's batch
from a batch that may be smaller, and gives views of buffers that the next batch overwrites.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import (
    BatchFailed,
    ModelFormatError,
)
from beam_ensembles.handlers.support.arguments import Values, cast
from beam_ensembles.handlers.support.signatures import (
    Port,
    Signature,
)
from beam_ensembles.types import NUMPY_DTYPES

_NAMES: Final = {dtype: name for name, dtype in NUMPY_DTYPES.items()}
_OPEN: Final = -1
_WITHOUT_END: Final = 1 << 31


class Engine:
    """A deserialized engine with its buffers on the GPU; calls from several threads take turns.

    Args:
        engine: TensorRT's ``ICudaEngine``.
        trt: The module ``tensorrt``.
        cuda: The module ``cuda.bindings.runtime``.

    Raises:
        ModelFormatError: It takes or gives what columns cannot be.
    """

    def __init__(self, engine: Any, trt: Any, cuda: Any) -> None:
        self._engine, self._cuda = engine, cuda
        names = [engine.get_tensor_name(at) for at in range(engine.num_io_tensors)]
        self._dims = {name: tuple(engine.get_tensor_shape(name)) for name in names}
        self._dtypes = {name: _dtype(trt, engine, name) for name in names}
        self.inputs = [name for name in names if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
        self.outputs = [name for name in names if name not in self.inputs]
        for name in self.inputs:
            if engine.is_shape_inference_io(name) or not self._dims[name]:
                raise ModelFormatError(f"its input '{name}' is not a tensor with one row per input row")
        self.fewest, self.most = self._limits()
        self._context = engine.create_execution_context()
        if self._context is None:
            raise MemoryError("the GPU's memory does not hold what the engine needs to run")
        self._stream = self._checked(cuda.cudaStreamCreate())
        self._buffers: dict[str, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def _limits(self) -> tuple[int, int]:
        """Returns the fewest and the most rows that one run takes."""
        fewest, most = 1, _WITHOUT_END
        for name in self.inputs:
            rows = self._dims[name][0]
            low, high = (rows, rows) if rows != _OPEN else self._profile(name)
            fewest, most = max(fewest, low), min(most, high)
        if fewest > most:
            raise ModelFormatError("its inputs take no common number of rows")
        return fewest, most

    def _profile(self, name: str) -> tuple[int, int]:
        low, _, high = self._engine.get_tensor_profile_shape(name, 0)
        return int(low[0]), int(high[0])

    @property
    def signature(self) -> Signature:
        """What it takes and gives; of any number of rows, since batches are padded and cut."""
        return Signature(tuple(map(self._port, self.inputs)), tuple(map(self._port, self.outputs)))

    def _port(self, name: str) -> Port:
        dims = tuple(None if dim == _OPEN else dim for dim in self._dims[name])
        return Port(name, _NAMES[self._dtypes[name]], (None, *dims[1:]) if dims else ())

    def __call__(self, feeds: Mapping[str, Values]) -> dict[str, Values]:
        """Runs the engine on a batch, in as many runs as its size asks for.

        Args:
            feeds: For each input its values, as many items as rows.

        Returns:
            For each output an array of its own with as many items as rows.

        Raises:
            NodeError: ``wrong_value`` where a number is too large for an input.
            MemoryError: The GPU has too little.
        """
        given = {name: cast(feeds[name], self._dtypes[name], "wrong_value", name) for name in self.inputs}
        rows = len(next(iter(given.values())))
        with self._lock:
            try:
                answers = [self._run(given, start, end) for start, end in parts_of(rows, self.most)]
            except MemoryError:
                self._release()  # or the buffers of a batch that was too large stay in the way of smaller ones
                raise
        return {name: np.concatenate([answer[name] for answer in answers]) for name in self.outputs}

    def _run(self, given: Mapping[str, Values], start: int, end: int) -> dict[str, Values]:
        rows = max(end - start, self.fewest)
        # Held until the stream is done: copies to and from the host do not wait for it.
        held = {name: padded(values[start:end], rows) for name, values in given.items()}
        for name, values in held.items():
            if not self._context.set_input_shape(name, values.shape):
                text = f"'{name}': the engine takes no {list(values.shape)}; build it for such rows"
                raise BatchFailed("model_error", text)
            self._bind(name, values.nbytes)
            self._copy(self._buffers[name][0], values.ctypes.data, values.nbytes, "HostToDevice")
        answers = {name: self._room(name) for name in self.outputs}
        if not self._context.execute_async_v3(int(self._stream)):
            raise BatchFailed("model_error", "TensorRT could not run the engine; its log says why")
        for name, values in answers.items():
            self._copy(values.ctypes.data, self._buffers[name][0], values.nbytes, "DeviceToHost")
        self._checked(self._cuda.cudaStreamSynchronize(self._stream))
        return {name: _cut(values, rows, end - start) for name, values in answers.items()}

    def _room(self, name: str) -> Values:
        """Creates room for an output, here and on the GPU; its shape follows from those of the inputs."""
        shape = tuple(self._context.get_tensor_shape(name))
        if _OPEN in shape:
            text = f"the shape of '{name}' depends on the values given, which cannot be read here"
            raise BatchFailed("model_error", text)
        values = np.empty(shape, self._dtypes[name])
        self._bind(name, values.nbytes)
        return values

    def _bind(self, name: str, size: int) -> None:
        """Ensures that a tensor's buffer on the GPU is large enough, and that the engine knows where it is."""
        address, room = self._buffers.get(name, (0, 0))
        if room < max(size, 1):
            if room:
                del self._buffers[name]
                self._checked(self._cuda.cudaFree(address))
            address, room = int(self._checked(self._cuda.cudaMalloc(max(size, 1)))), max(size, 1)
            self._buffers[name] = (address, room)
        self._context.set_tensor_address(name, address)

    def _release(self) -> None:
        while self._buffers:
            _, (address, _) = self._buffers.popitem()
            self._checked(self._cuda.cudaFree(address))

    def _copy(self, to: int, of: int, size: int, direction: str) -> None:
        kind = getattr(self._cuda.cudaMemcpyKind, f"cudaMemcpy{direction}")
        self._checked(self._cuda.cudaMemcpyAsync(to, of, size, kind, self._stream))

    def _checked(self, answer: Sequence[Any]) -> Any:
        """Returns what a call of CUDA gave beside its error, if there is none."""
        error, *values = answer
        if error == self._cuda.cudaError_t.cudaErrorMemoryAllocation:
            raise MemoryError("the GPU's memory does not hold the batch")
        if error != self._cuda.cudaError_t.cudaSuccess:
            raise BatchFailed("model_error", f"CUDA failed: {error}")
        return values[0] if values else None


def _dtype(trt: Any, engine: Any, name: str) -> np.dtype[Any]:
    try:
        found: np.dtype[Any] = np.dtype(trt.nptype(engine.get_tensor_dtype(name)))
    except TypeError as exc:
        text = (
            f"'{name}' is of {engine.get_tensor_dtype(name)}, which numpy lacks; build it with float32 there"
        )
        raise ModelFormatError(text) from exc
    return found


def parts_of(rows: int, most: int) -> Iterator[tuple[int, int]]:
    """Parts a batch: the first row of each part and the row after its last."""
    for start in range(0, rows, most):
        yield start, min(start + most, rows)


def padded(values: Values, rows: int) -> Values:
    """Returns values with as many rows as wanted, the last one repeated: it is one that the model can take.

    Args:
        values: At least one row.
        rows: At least as many.

    Returns:
        An array whose values lie one after the other, as a copy to a GPU needs them.
    """
    lacking = rows - len(values)
    if lacking:
        values = np.concatenate([values, np.repeat(values[-1:], lacking, axis=0)])
    return np.ascontiguousarray(values)


def _cut(values: Values, rows: int, wanted: int) -> Values:
    """Takes the padding's answers away; what does not have a row each is left for the check of outputs to refuse."""
    return values[:wanted] if values.ndim and len(values) == rows else values
