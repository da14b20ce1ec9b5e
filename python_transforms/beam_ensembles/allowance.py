"""An amount that all checks of one file share, so that a file cannot have each check do its utmost."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator


class Allowance:
    """What the checks within a block may still spend.

    Args:
        name: Its name, for debuggers.
    """

    def __init__(self, name: str) -> None:
        self._left: contextvars.ContextVar[list[int] | None] = contextvars.ContextVar(name, default=None)

    @contextlib.contextmanager
    def of(self, amount: int) -> Iterator[None]:
        """Grant an amount within a block. A block within another one shares what is left of it.

        Args:
            amount: How much the block may spend.
        """
        if self._left.get() is not None:
            yield
            return
        token = self._left.set([amount])
        try:
            yield
        finally:
            self._left.reset(token)

    @property
    def left(self) -> int | None:
        """What may still be spent; less than nothing after an overdraft, None outside of a block."""
        left = self._left.get()
        return None if left is None else left[0]

    def spend(self, amount: int) -> None:
        """Take an amount from what is left; outside of a block nothing is counted."""
        left = self._left.get()
        if left is not None:
            left[0] -= amount
