"""The tokens of an answer become the probabilities of its labels, however the labels are cut into tokens."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.handlers.chat.label_probabilities import Token, probabilities_of

LABELS = ["billing", "bill", "outage", "öl"]


def cut(text: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[start:end] for start, end in itertools.pairwise(ends)]


@given(
    chances=st.lists(st.floats(0.01, 1), min_size=4, max_size=4),
    label=st.integers(0, 3),
    places=st.lists(st.integers(0, 60)),
    spaced=st.booleans(),
)
def test_a_model_that_knows_its_labels(
    chances: list[float], label: int, places: list[int], spaced: bool
) -> None:
    """A model that chooses a label by these chances, and says each next byte's probabilities, is seen through."""
    chances = [chance / sum(chances) for chance in chances]
    whole = [
        json.dumps({"n": 1, "label": one}, ensure_ascii=False, indent=1 if spaced else None) for one in LABELS
    ]
    texts = [one.encode() for one in whole]
    done, tokens = b"", []
    for piece in cut(texts[label], places):
        alive = [at for at, text in enumerate(texts) if text.startswith(done)]
        total = sum(chances[at] for at in alive)
        after = [at for at in alive if texts[at].startswith(done + piece)]
        others = [(texts[at][len(done) :], chances[at] / total) for at in alive if at not in after]
        tokens.append(Token(piece, sum(chances[at] for at in after) / total, others))
        done += piece
    found = probabilities_of(tokens, "label", LABELS[label], LABELS)
    assert found == pytest.approx(chances)


@given(st.lists(st.tuples(st.binary(), st.floats(0, 1), st.lists(st.tuples(st.binary(), st.floats(0, 1))))))
def test_any_tokens(found: list[tuple[bytes, float, list[tuple[bytes, float]]]]) -> None:
    start = [Token(b'{"label": "', 1.0, [])]
    for tokens in (
        [Token(*one) for one in found],
        [*start, Token(b'bill"', 0.5, []), *(Token(*one) for one in found)],
    ):
        answer = probabilities_of(tokens, "label", "bill", LABELS)
        assert answer is None or sum(answer) == pytest.approx(1)


def test_another_member_with_the_same_text() -> None:
    tokens = [Token(b'{"x": "label", "y": {"label": 1}, "label": "', 1.0, []), Token(b'outage"}', 1.0, [])]
    assert probabilities_of(tokens, "label", "outage", LABELS) == [0, 0, 1, 0]


def test_tokens_without_the_label_say_nothing() -> None:
    assert probabilities_of([Token(b"{}", 1.0, [])], "label", "outage", LABELS) is None
