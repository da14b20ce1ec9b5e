"""Where a model runs, and what is done when a batch does not fit in the memory there."""

from __future__ import annotations

import dataclasses
import logging
import sys
from typing import Final

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member
from beam_ensembles.handlers.support.beam_config import DeviceOptions
from beam_ensembles.handlers.support.member import no_gpu_for_device

_LOGGER: Final = logging.getLogger(__name__)
_ON_CPU: Final = "can't allocate memory"
"""What PyTorch's allocator says on a CPU, where it raises but a ``RuntimeError``."""


def device_of(node: CheckedNode[DeviceOptions]) -> str:
    """Returns the device of a node in the words of Beam's handlers, ``CPU`` or ``GPU``.

    Raises:
        InvalidEnsemble: ``no_gpu``: the node asks for a GPU and this worker has none.
    """
    import torch

    wanted = node.options.device
    has_gpu = torch.cuda.is_available()
    if wanted == "gpu" and not has_gpu:
        raise no_gpu_for_device(node, "PyTorch finds no CUDA device")
    return "GPU" if has_gpu and wanted != "cpu" else "CPU"


@dataclasses.dataclass(slots=True)
class WithinMemory:
    """A member whose batch is halved when the device's memory does not hold it, which is not the fault of any row.

    What is known to fit is kept in mind: the next batches are given in parts of that size.

    Attributes:
        member: The member.
        name: The node's name, for the log.
        most: The most rows that one call gets; None before any batch was too large.
    """

    member: Member
    name: str
    most: int | None = None

    def __call__(self, columns: Columns) -> Columns:
        """Runs the member, in parts where need be.

        Raises:
            NodeError: ``out_of_memory``: one row alone is too large.
        """
        rows = len(next(iter(columns.values())))
        if self.most is None or rows <= self.most:
            answer = self._try(columns)
            if answer is not None:
                return answer
            if rows == 1:
                raise NodeError("out_of_memory", "one row alone does not fit in the memory of the device")
            self.most = (rows + 1) // 2
            _LOGGER.warning(
                "node '%s': a batch of %d rows does not fit in memory; it gets at most %d at once from now on "
                "(set 'batch: {max: %d}')", self.name, rows, self.most, self.most,
            )  # fmt: skip
        return self._in_parts(columns, rows, self.most)

    def _try(self, columns: Columns) -> Columns | None:
        """Runs the member once; None where the memory did not suffice, which is then freed."""
        try:
            return self.member(columns)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        release()  # here, where no traceback holds the tensors of the failed call any more
        return None

    def _in_parts(self, columns: Columns, rows: int, size: int) -> Columns:
        parts = [
            self({name: values[start : start + size] for name, values in columns.items()})
            for start in range(0, rows, size)
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def is_out_of_memory(error: BaseException) -> bool:
    """Returns whether memory ran out, on a GPU or not."""
    torch = sys.modules.get("torch")  # without it, as for TensorRT's engines, no error can be one of its own
    on_gpu = torch is not None and isinstance(error, torch.cuda.OutOfMemoryError)
    return (
        on_gpu
        or isinstance(error, MemoryError)
        or (isinstance(error, RuntimeError) and _ON_CPU in str(error))
    )


def release() -> None:
    """Frees the memory that PyTorch keeps for later tensors."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
