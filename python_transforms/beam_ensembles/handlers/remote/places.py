"""A limit of the calls that are under way at one time: lower while the server has no room for them."""

from __future__ import annotations

import asyncio
import collections
import contextlib
from collections.abc import AsyncIterator

from beam_ensembles.handlers.support.call_counts import THROTTLED, count


class Places:
    """Limits how many calls are under way; for the coroutines of one event loop.

    When the server says that it has no room, the limit is halved and new calls wait; each answer raises it by a
    part of one, as TCP does.

    Args:
        most: The limit where the server has room.

    Attributes:
        limit: How many calls may be under way now, 1 to ``most``.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.limit = float(most)
        self._taken = 0
        self._paused_until = 0.0
        self._waiting: collections.deque[asyncio.Future[None]] = collections.deque()

    @contextlib.asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Takes a place while the block runs; who came first gets the next one."""
        if self._waiting or not self._has_room():
            await self._turn()
        else:
            self._taken += 1
        try:
            yield
        finally:
            self._leave()

    async def _turn(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it has a place, which it does not use
                self._leave()
            raise

    def _leave(self) -> None:
        """Returns a place, and wakes those alone for whom there is one now."""
        self._taken -= 1
        while self._waiting and self._has_room():
            turn = self._waiting.popleft()
            if not turn.done():
                self._taken += 1
                turn.set_result(None)

    def _has_room(self) -> bool:
        return self._taken < max(1, int(self.limit))

    async def unpaused(self) -> None:
        """Waits until the server may have room again."""
        loop = asyncio.get_running_loop()
        while (left := self._paused_until - loop.time()) > 0:
            count(THROTTLED, round(left * 1_000))
            await asyncio.sleep(left)

    def no_room(self, seconds: float) -> None:
        """Holds calls back for some seconds, and halves the limit unless that was just done."""
        now = asyncio.get_running_loop().time()
        if now >= self._paused_until:
            self.limit = max(1.0, self.limit / 2)
        self._paused_until = max(self._paused_until, now + seconds)

    def answered(self) -> None:
        """Raises the limit a little."""
        self.limit = min(float(self._most), self.limit + 1 / self.limit)
