"""Let other threads than a bundle's own log and count for it. Written for Beam 2.77 (``statesampler``).

Beam keeps what a bundle counts, and which step runs, with the bundle's own thread alone.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def as_here(task: Callable[[], T]) -> Callable[[], T]:
    """Return a task for another thread: it logs and counts as this thread does, as long as that waits for it."""
    from apache_beam.runners.worker import statesampler  # not before it is needed: checks load no Beam

    context, tracker = contextvars.copy_context(), statesampler.get_current_tracker()

    def run() -> T:
        with counting_into(tracker):
            return context.run(task)

    return run


@contextlib.contextmanager
def counting_into(tracker: Any) -> Iterator[None]:
    """Make this thread count into what a tracker of Beam's counts into within the block."""
    from apache_beam.runners.worker import statesampler

    before = statesampler.get_current_tracker()
    statesampler.set_current_tracker(tracker)
    try:
        yield
    finally:
        statesampler.set_current_tracker(before)
