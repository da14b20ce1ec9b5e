"""Report answers as they come, where a member answers its rows one by one and long after another.

Whoever runs a member may listen; what a member tells it is good even if the process ends before the call does.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from beam_ensembles.graph.kinds import Columns

Listener: TypeAlias = Callable[[Sequence[int], Columns], None]
"""Takes the positions of some rows among those of the call, and the columns that the member gives for them."""
_LISTENER: Final[contextvars.ContextVar[Listener | None]] = contextvars.ContextVar("listener", default=None)


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hears of answers within the block, in this thread and in coroutines that it starts."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listener() -> Listener | None:
    """Returns who listens to the call that runs."""
    return _LISTENER.get()
