"""What a node may spend in a period, on all workers of a machine together."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable
from typing import Final

from beam_ensembles.errors import BatchFailed
from beam_ensembles.handlers.remote.shared_numbers import SharedNumbers

PERIODS: Final = ("hour", "day", "month")
_BEGAN, _TOKENS, _COST = range(3)
_BILLION: Final = 1_000_000_000


@dataclasses.dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in dollars.

    Attributes:
        sent: Of a request.
        received: Of an answer.
        cached: Of a request, where the server had them in a cache of its own.
    """

    sent: float
    received: float
    cached: float

    def of(self, sent: int, received: int, cached: int) -> int:
        """Returns the cost of a call in billionths of a dollar.

        Args:
            sent: Tokens of the request.
            received: Tokens of the answer.
            cached: Those of ``sent`` that were in a cache.
        """
        dollars = (sent - cached) * self.sent + cached * self.cached + received * self.received
        return round(dollars * 1_000)


class Budget:
    """Stops calls when a period's tokens or dollars are spent.

    Args:
        names: What the budget is about: the server, the model, the node.
        period: One of ``PERIODS``, of the calendar in UTC.
        tokens: The tokens that may be spent; None: any number.
        usd: The dollars that may be spent; None: any number.
        clock: Gives the time in UTC.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        period: str,
        *,
        tokens: int | None = None,
        usd: float | None = None,
        clock: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
    ) -> None:
        self._numbers = SharedNumbers(("budget", period, *names), (3,))
        self._period, self._tokens, self._usd, self._clock = period, tokens, usd, clock

    def check(self) -> None:
        """Ensures that a call may be made.

        Raises:
            BatchFailed: ``budget_spent``.
        """
        began = self._began()
        with self._numbers.locked() as numbers:
            is_now = numbers[_BEGAN] == began.timestamp()
            tokens, cost = (int(numbers[_TOKENS]), int(numbers[_COST])) if is_now else (0, 0)
        if self._tokens is not None and tokens >= self._tokens:
            spent = f"{tokens:,} of {self._tokens:,} tokens"
        elif self._usd is not None and cost >= self._usd * _BILLION:
            spent = f"${cost / _BILLION:.4f} of ${self._usd:,.10g}"
        else:
            return
        text = (
            f"{spent} of this {self._period} are spent; calls go on at {self._ends(began):%Y-%m-%d %H:%M} UTC"
        )
        raise BatchFailed("budget_spent", text)

    def spend(self, tokens: int, cost: int) -> None:
        """Notes what a call has taken.

        Args:
            tokens: Its tokens.
            cost: Billionths of a dollar.
        """
        began = int(self._began().timestamp())
        with self._numbers.locked() as numbers:
            if numbers[_BEGAN] != began:
                numbers[:] = (began, 0, 0)
            numbers[_TOKENS] += tokens
            numbers[_COST] += cost

    def _began(self) -> datetime.datetime:
        now = self._clock().replace(minute=0, second=0, microsecond=0)
        if self._period == "hour":
            return now
        return now.replace(hour=0, day=1 if self._period == "month" else now.day)

    def _ends(self, began: datetime.datetime) -> datetime.datetime:
        if self._period == "month":
            return (began + datetime.timedelta(days=31)).replace(day=1)
        return began + datetime.timedelta(**{f"{self._period}s": 1})
