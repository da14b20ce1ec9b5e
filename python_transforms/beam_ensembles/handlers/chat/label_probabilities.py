"""The probability of each class, from the log probabilities of the tokens of an answer.

Each token comes with its likeliest alternatives. Where an alternative leads to another label, that label gets its
probability, times that of the tokens before it; the label of the answer gets that of its own tokens. What leads to no
label is left out, and the rest is normalised.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Sequence
from typing import Any

ALTERNATIVES = 20
"""How many tokens a server is asked for at each place; more are refused by some, and none of those is read."""


@dataclasses.dataclass(frozen=True, slots=True)
class Token:
    """A token of an answer.

    Attributes:
        text: Its bytes.
        probability: Its probability, after the tokens before it.
        others: The bytes and the probability of each alternative.
    """

    text: bytes
    probability: float
    others: Sequence[tuple[bytes, float]]


def tokens_of(choice: Any) -> list[Token]:
    """Returns the tokens of an answer; nothing where the server says no probabilities, or something else.

    Args:
        choice: The choice of a chat completion.
    """
    content = getattr(getattr(choice, "logprobs", None), "content", None)
    try:
        return [_token(one) for one in content or ()]
    except (AttributeError, TypeError, ValueError, OverflowError):
        return []


def _token(found: Any) -> Token:
    text = _bytes(found)
    others = [(_bytes(one), _probability(one)) for one in (found.top_logprobs or ())[:ALTERNATIVES]]
    return Token(text, _probability(found), [one for one in others if one[0] != text])


def _bytes(found: Any) -> bytes:
    raw = getattr(found, "bytes", None)
    return bytes(raw) if isinstance(raw, list) else found.token.encode("utf-8", "surrogatepass")


def _probability(found: Any) -> float:
    value = math.exp(min(0.0, found.logprob))
    if math.isnan(value):
        raise ValueError("not a number")
    return value


def probabilities_of(
    tokens: Sequence[Token], name: str, value: str, labels: Sequence[str]
) -> list[float] | None:
    """Returns the probability of each label, which add up to 1; None where the tokens do not say them.

    Args:
        tokens: The tokens of an answer, which is an object in JSON.
        name: The member of the object that is a label.
        value: Its value, one of the labels.
        labels: All labels.
    """
    whole = b"".join(token.text for token in tokens)
    begin = _begin(whole, name, value)
    if begin is None:
        return None
    written = [_in_json(label) for label in labels]
    masses, path, at = [0.0] * len(labels), 1.0, 0
    own = labels.index(value)
    for token in tokens:
        start, at = at, at + len(token.text)
        if at <= begin or not token.text:  # a server may send any number of empty ones
            continue
        before = token.text[: max(0, begin - start)]
        done = whole[begin:start]
        for text, probability in token.others:
            if text.startswith(before) and len(text) > len(before):
                _add(masses, written, done + text[len(before) :], path * probability)
        path *= token.probability
        if _leads_to(written, done + token.text[len(before) :]) == [own]:
            break
    masses[own] += path
    total = sum(masses)
    return [mass / total for mass in masses] if total > 0 else None


def _begin(text: bytes, name: str, value: str) -> int | None:
    """Returns where the label begins in the text of an answer."""
    key = re.escape(json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    for found in re.finditer(key + rb'\s*:\s*"', text):
        if text.startswith(_in_json(value), found.end()):
            return found.end()
    return None


def _in_json(label: str) -> bytes:
    """Returns a label as it stands in JSON, from its first character to the quote behind it."""
    return json.dumps(label, ensure_ascii=False)[1:].encode("utf-8", "surrogatepass")


def _leads_to(written: Sequence[bytes], begun: bytes) -> list[int]:
    return [at for at, text in enumerate(written) if text.startswith(begun) or begun.startswith(text)]


def _add(masses: list[float], written: Sequence[bytes], begun: bytes, probability: float) -> None:
    """Add a probability to the labels that a text leads to, in equal parts."""
    found = _leads_to(written, begun)
    for at in found:
        masses[at] += probability / len(found)
