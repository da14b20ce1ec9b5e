"""Shorten lists in messages, and suggest the word that was probably meant."""

from __future__ import annotations

import contextlib
import contextvars
import difflib
from collections.abc import Iterable, Iterator, Sequence

from beam_ensembles.limits import LONGEST_NAME, MOST_COMPARED
from beam_ensembles.printable import truncate

_comparisons_left: contextvars.ContextVar[list[int]] = contextvars.ContextVar("_comparisons_left")


@contextlib.contextmanager
def few_suggestions() -> Iterator[None]:
    """Limit ``nearest`` within a block to ``limits.MOST_COMPARED`` pairs of characters; after that it returns nothing.

    Whoever wrote a file with thousands of unknown names does not read thousands of hints. A block within another one
    shares what is left of it.
    """
    if _comparisons_left.get(None) is not None:
        yield
        return
    token = _comparisons_left.set([MOST_COMPARED])
    try:
        yield
    finally:
        _comparisons_left.reset(token)


def nearest(word: str, allowed: Iterable[str]) -> str:
    """Returns ``"; did you mean 'x'?"`` for the allowed word nearest to ``word``, or an empty string."""
    found = nearest_of(word, allowed)
    return "" if found is None else f"; did you mean '{found}'?"


def nearest_of(word: str, allowed: Iterable[str]) -> str | None:
    """Returns the allowed word nearest to ``word``; None if none is near.

    Long words have no suggestion, nor has any word once a file has had many (``few_suggestions``); then ``allowed`` is
    not even iterated over.
    """
    left = _comparisons_left.get(None)
    left = [MOST_COMPARED] if left is None else left
    if left[0] <= 0 or len(word) > LONGEST_NAME:
        return None
    words: list[str] = []
    for one in allowed:
        if len(one) <= LONGEST_NAME:
            words.append(one)
        left[0] -= len(word) * min(len(one), LONGEST_NAME) + 1
        if left[0] <= 0:
            break
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
