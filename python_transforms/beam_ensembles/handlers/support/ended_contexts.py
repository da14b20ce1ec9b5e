"""Nodes whose device's context may end: they move to a process of their own, which can be replaced.

An index that is out of range is an ``IndexError`` on a CPU. On a GPU it ends CUDA's context (a device-side assert), as
illegal addresses and failing memory do: whatever the process asks the device from then on fails too, and every row with
it. So the worker does not split the batch. The batch is tried once more in a new process, where halves of it find the
bad rows; each that ends the context there ends that process (``isolated_process``), and the next half gets another.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Final

from beam_ensembles.beam_repairs.inference_imports import has_gpu_device
from beam_ensembles.errors import BatchFailed, EnsembleError
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, Work
from beam_ensembles.handlers.support.beam_config import DeviceOptions
from beam_ensembles.handlers.support.isolated_members import IsolatedMember
from beam_ensembles.handlers.support.isolated_process import has_ended_context
from beam_ensembles.handlers.support.loading_here import load_here
from beam_ensembles.messages.foreign_errors import described
from beam_ensembles.processes.machine import Machine

_LOGGER: Final = logging.getLogger(__name__)


def load_here_or_move(node: CheckedNode, machine: Machine) -> Member:
    """Loads a node in this process; one that may use a GPU moves to a process of its own where the GPU fails.

    Args:
        node: The node.
        machine: What this process has of its machine.

    Raises:
        EnsembleError: It cannot be loaded.
    """
    member = load_here(node, machine)
    return MovableMember(node, member) if _may_use_gpu(node) else member


def _may_use_gpu(node: CheckedNode) -> bool:
    kind, options = node.kind, node.options
    if kind.kind != "model" or kind.work is Work.ELSEWHERE or not has_gpu_device():
        return False
    return not (isinstance(options, DeviceOptions) and options.device == "cpu")


class MovableMember:
    """A member of this process, until CUDA's context here ends; from then on one in a process of its own.

    Args:
        node: The node.
        member: Its member, loaded in this process.
    """

    def __init__(self, node: CheckedNode, member: Member) -> None:
        self._node = node
        self._member = member
        self._moving = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._member, name)

    def __call__(self, columns: Columns) -> Columns:
        """Runs the member; where that ends the context, once more in a new process.

        Raises:
            BatchFailed: ``process_died``: no such process can be started.
        """
        member = self._member
        try:
            return member(columns)
        except Exception as error:
            if not has_ended_context(error):
                raise
            why = described(error)
        self._move(member, why)
        return self._member(columns)

    def _move(self, member: Member, why: str) -> None:
        with self._moving:
            if self._member is not member:  # another thread has moved it
                return
            _LOGGER.error(
                "node '%s' goes on in a process of its own, since the GPU can no longer be used in this one: %s",
                self._node.spec.name, why,
            )  # fmt: skip
            try:
                self._member = IsolatedMember(self._node)
            except EnsembleError as error:
                raise BatchFailed("process_died", f"the GPU failed ({why}), and then: {error}") from error
