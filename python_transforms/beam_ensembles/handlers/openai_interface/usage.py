"""What an answer says of the tokens that it took."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from beam_ensembles.handlers.support.call_counts import TOKENS_CACHED, TOKENS_IN, TOKENS_OUT, count

_MOST: Final = 1 << 40
_NAMES: Final = (("prompt_tokens", "completion_tokens"), ("input_tokens", "output_tokens"))
"""What interfaces call the tokens of a request and of an answer."""


@dataclasses.dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one call; zeros where the server does not say.

    Attributes:
        sent: Of the request.
        received: Of the answer.
        cached: Those of the request that the server had in a cache of its own.
    """

    sent: int = 0
    received: int = 0
    cached: int = 0

    @property
    def total(self) -> int:
        """All tokens of the call."""
        return self.sent + self.received


def usage_of(answer: Any) -> Usage:
    """Returns what an answer says; a server may say anything."""
    found = getattr(answer, "usage", None)
    for sent_name, received_name in _NAMES:
        sent, received = _number(found, sent_name), _number(found, received_name)
        if sent or received:
            details = getattr(found, f"{sent_name}_details", None)
            return Usage(sent, received, min(sent, _number(details, "cached_tokens")))
    return Usage()


def count_usage(answer: Any) -> Usage:
    """Counts the tokens of an answer for the node that runs, and returns them."""
    usage = usage_of(answer)
    count(TOKENS_IN, usage.sent)
    count(TOKENS_OUT, usage.received)
    count(TOKENS_CACHED, usage.cached)
    return usage


def _number(holder: Any, name: str) -> int:
    value = getattr(holder, name, None)
    return value if type(value) is int and 0 <= value <= _MOST else 0
