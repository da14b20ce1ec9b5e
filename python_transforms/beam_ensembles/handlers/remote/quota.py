"""Quotas of calls and tokens in a minute, which all workers of a machine keep together."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from beam_ensembles.handlers.remote.shared_numbers import SharedNumbers
from beam_ensembles.handlers.support.call_counts import THROTTLED, count
from beam_ensembles.handlers.support.waits import JITTER

WINDOW: Final = 61.0
"""Seconds in which no more calls are made than in a minute: some calls take longer to reach the server than others."""
_SLOTS: Final = 610
_SLOT, _REQUESTS, _TOKENS = range(3)
"""The columns of the shared numbers. A slot is known by its number, counted from the start of the clock, plus one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rate:
    """What a server allows; None: any number.

    Attributes:
        requests: Calls in a minute.
        tokens: Tokens in a minute, those of answers too.
    """

    requests: int | None = None
    tokens: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Ticket:
    """A call that may be made.

    Attributes:
        at: When that was decided, by the clock.
        slot: The slot in which it counts.
        tokens: How many tokens were counted for it.
    """

    at: float
    slot: int
    tokens: int


class Quota:
    """Decide when a call may be made, so that no window has more calls or tokens than the rate allows.

    Processes and threads share it by their machine.

    Args:
        names: What the quota is about: the server, the model.
        rate: The calls and tokens that the server allows.
        window: The seconds of a window.
        clock: Gives the seconds that all processes of the machine count alike.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        rate: Rate,
        window: float = WINDOW,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._numbers = SharedNumbers(("quota", *names), (_SLOTS, 3))
        self._rate, self._seconds, self._clock = rate, window / _SLOTS, clock

    def take(self, tokens: int = 0) -> Ticket | float:
        """Counts a call, or returns how many seconds to wait before asking again.

        Args:
            tokens: How many tokens it may take. More than the rate allows wait for a window without calls.
        """
        with self._numbers.locked() as slots:
            now = self._clock()
            current = int(now / self._seconds) + 1
            slots[(slots[:, _SLOT] > current) | (slots[:, _SLOT] <= current - _SLOTS)] = 0
            most = self._rate.tokens
            tokens = tokens if most is None else min(tokens, most)
            opens = self._opens(slots, tokens)
            if opens is not None:
                return max(0.0, opens * self._seconds - now) + JITTER.random() * self._seconds / 2
            place = slots[current % _SLOTS]
            place += (0 if place[_SLOT] else current, 1, tokens)
            return Ticket(now, current, tokens)

    def correct(self, ticket: Ticket, tokens: int) -> None:
        """Counts the tokens that a call has taken in the place of those that it might have taken."""
        with self._numbers.locked() as slots:
            place = slots[ticket.slot % _SLOTS]
            if place[_SLOT] == ticket.slot:
                place[_TOKENS] = max(0, place[_TOKENS] + tokens - ticket.tokens)

    def wait(self, tokens: int = 0) -> Ticket:
        """Blocks until a call may be made."""
        while not isinstance(found := self.take(tokens), Ticket):
            count(THROTTLED, round(found * 1_000))
            time.sleep(found)
        return found

    def _opens(self, slots: np.ndarray, tokens: int) -> int | None:
        """Returns the slot at whose beginning there is room for a call; None: there is room now."""
        requests, used = int(slots[:, _REQUESTS].sum()), int(slots[:, _TOKENS].sum())
        if self._has_room(requests, used + tokens):
            return None
        for at in np.argsort(slots[:, _SLOT], kind="stable"):
            if slots[at, _SLOT]:
                requests, used = requests - int(slots[at, _REQUESTS]), used - int(slots[at, _TOKENS])
                if self._has_room(requests, used + tokens):
                    return int(slots[at, _SLOT]) - 1 + _SLOTS
        return None

    def _has_room(self, requests: int, tokens: int) -> bool:
        most = self._rate
        return (most.requests is None or requests < most.requests) and (
            most.tokens is None or tokens <= most.tokens
        )


class QuotaQueue:
    """Pass the coroutines of one event loop through a quota, one after another.

    Args:
        quota: The quota.
    """

    def __init__(self, quota: Quota) -> None:
        self._quota = quota
        self._first = asyncio.Lock()

    async def wait(self, tokens: int) -> Ticket:
        """Waits until a call may be made."""
        start = time.monotonic()
        async with self._first:  # one asks for all, instead of all at the same moment
            while not isinstance(found := self._quota.take(tokens), Ticket):
                await asyncio.sleep(found)
        count(THROTTLED, int((time.monotonic() - start) * 1_000))
        return found

    def correct(self, ticket: Ticket, tokens: int) -> None:
        """Counts what a call has taken (``Quota.correct``)."""
        self._quota.correct(ticket, tokens)
