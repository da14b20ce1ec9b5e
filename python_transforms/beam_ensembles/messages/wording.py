"""Shorten lists in messages, and suggest the word that was probably meant."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Sequence
from typing import Final

from beam_ensembles.allowance import Allowance
from beam_ensembles.limits import LONGEST_NAME, MOST_COMPARED
from beam_ensembles.messages.printable import truncate

_COMPARISONS: Final = Allowance("comparisons")


def few_suggestions() -> contextlib.AbstractContextManager[None]:
    """Limit ``nearest`` within a block to ``limits.MOST_COMPARED`` pairs of characters; after that it returns nothing.

    Whoever wrote a file with thousands of unknown names does not read thousands of hints. A block within another one
    shares what is left of it.
    """
    return _COMPARISONS.of(MOST_COMPARED)


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Returns ``"; did you mean 'x'?"`` for the allowed word nearest to ``word``, or an empty string."""
    found = nearest_of(word, allowed)
    return "" if found is None else f"; did you mean '{found}'?"


def nearest_of(word: str, allowed: Iterable[str]) -> str | None:
    """Returns the allowed word nearest to ``word``; None if none is near.

    Long words have no suggestion, nor has any word once a file has had many (``few_suggestions``); then ``allowed`` is
    not even iterated over.
    """
    left = MOST_COMPARED if _COMPARISONS.left is None else _COMPARISONS.left
    if left <= 0 or len(word) > LONGEST_NAME:
        return None
    words: list[str] = []
    spent = 0
    for one in allowed:
        if len(one) <= LONGEST_NAME:
            words.append(one)
        spent += len(word) * min(len(one), LONGEST_NAME) + 1
        if spent >= left:
            break
    _COMPARISONS.spend(spent)
    close = [one for one in words if one.casefold() == word.casefold()]
    close = close or difflib.get_close_matches(word, words, n=1)
    return close[0] if close else None


def listed(words: Sequence[str], limit: int = 12, total: int | None = None) -> str:
    """Join words for a message, shortening a long list and long words.

    Args:
        words: The words.
        limit: How many of them to show.
        total: How many there are, where these are the first of more.
    """
    count = len(words) if total is None else total
    shown = ", ".join(truncate(word, LONGEST_NAME) for word in words[:limit]) if words else "none"
    more = count - min(limit, len(words))
    return shown if more <= 0 else f"{shown} and {more} more"
