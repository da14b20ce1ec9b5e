"""Nodes of a batch that do not need each other run at one time, on cores that have nothing else to do.

That is for models that leave cores idle: scikit-learn uses one, XGBoost and onnxruntime few for a small batch, and what
another machine answers none. PyTorch and TensorFlow use all cores for a call, and a GPU would have to hold two calls.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.threads import as_here

T = TypeVar("T")

WORTH_NANOSECONDS: Final = 1_000_000
"""A call that takes less is not worth another thread, which costs a tenth of that."""

_COMPUTES: Final = frozenset(("sklearn", "xgboost", "onnx"))
_WAITS: Final = frozenset(("open_inference", "vertex_ai"))


class Cores:
    """The cores of this process that nothing uses.

    Args:
        count: How many it has.
    """

    def __init__(self, count: int) -> None:
        self._count = self._spare = count
        self._lock = threading.Lock()
        self._threads: ThreadPoolExecutor | None = None

    @property
    def has_spare(self) -> bool:
        """Whether a task could start now."""
        return self._spare > 0

    @contextlib.contextmanager
    def one_used(self) -> Iterator[None]:
        """Notes that this thread uses a core within the block, whether or not one is to spare."""
        self._change(-1)
        try:
            yield
        finally:
            self._change(1)

    def start(self, task: Callable[[], T]) -> Future[T]:
        """Starts a task on a core of its own. It logs and counts as this thread does, which is to wait for it."""
        self._change(-1)
        started = self._pool().submit(as_here(task))
        started.add_done_callback(lambda _: self._change(1))
        return started

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._count, "node")
            return self._threads

    def _change(self, by: int) -> None:
        with self._lock:
            self._spare += by


CORES: Final = Cores(
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
)
"""Those of this process, for all stages and threads in it."""


def may_run_beside(nodes: Sequence[CheckedNode]) -> tuple[tuple[int, ...], ...]:
    """Gives for each node which later ones may begin with it: they read nothing that it or one in between makes.

    Args:
        nodes: In the order in which they run.

    Returns:
        For each node the positions of such nodes.
    """
    return tuple(
        tuple(_beside(nodes, at)) if _is_one_cores_work(node) else () for at, node in enumerate(nodes)
    )


def _beside(nodes: Sequence[CheckedNode], first: int) -> Iterator[int]:
    made = set(nodes[first].outputs)
    for at, node in enumerate(nodes[first + 1 :], first + 1):
        if _is_one_cores_work(node) and made.isdisjoint((*node.inputs, *node.condition)):
            yield at
        made.update(node.outputs)


def _is_one_cores_work(node: CheckedNode) -> bool:
    return node.spec.kind == "model" and node.spec.target in _COMPUTES | _WAITS
