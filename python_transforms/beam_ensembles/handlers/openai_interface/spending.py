"""What calls of OpenAI's interface may take: a quota's and a budget's tokens, estimated before and counted after."""

from __future__ import annotations

import dataclasses
import math
from typing import Final

from beam_ensembles.handlers.openai_interface.usage import Usage
from beam_ensembles.handlers.remote.budget import Budget, Price
from beam_ensembles.handlers.remote.quota import Quota
from beam_ensembles.handlers.support.call_counts import COST, count

_FIRST_RATIO: Final = 0.5
"""Tokens for each byte of a request, before a server has said how many there are; English has about a quarter."""
_FIRST_ANSWER: Final = 256
_FORGETTING: Final = 0.98
"""How much of what was the most is still believed after one more call."""


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What a node says of its calls.

    Attributes:
        quota: The quota, or None.
        budget: The budget, or None.
        price: What tokens cost, or None.
        answer: The most tokens of an answer, or None.
    """

    quota: Quota | None = None
    budget: Budget | None = None
    price: Price | None = None
    answer: int | None = None


class Estimate:
    """Estimates the tokens of a call by the most that recent calls took.

    Args:
        answer: The most tokens of an answer; None: nobody says.
    """

    def __init__(self, answer: int | None) -> None:
        self._ratio, self._answer = _FIRST_RATIO, float(_FIRST_ANSWER if answer is None else answer)

    def of(self, size: int) -> Usage:
        """Returns the tokens of a request of so many bytes and of its answer."""
        return Usage(math.ceil(size * self._ratio), math.ceil(self._answer))

    def learn(self, size: int, usage: Usage) -> None:
        """Takes what a call has taken."""
        self._ratio = max(self._ratio * _FORGETTING, usage.sent / max(1, size))
        self._answer = max(self._answer * _FORGETTING, usage.received)


def spend(limits: Limits, usage: Usage) -> None:
    """Counts what a call has cost."""
    cost = 0 if limits.price is None else limits.price.of(usage.sent, usage.received, usage.cached)
    count(COST, cost)
    if limits.budget is not None:
        limits.budget.spend(usage.sent + usage.received, cost)
