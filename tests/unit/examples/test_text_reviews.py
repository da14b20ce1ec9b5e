"""The reviews that the text example makes, what is right about them, and what its summary says."""

from __future__ import annotations

import itertools
import random

import pytest

from examples.text.summary import share
from examples.text.texts import MOODS, TOPICS, Review, review, reviews

MADE = list(itertools.islice(reviews(1), 500))


def test_a_review_comes_with_what_is_right_about_it() -> None:
    assert next(reviews(20)) == review(random.Random(20))
    assert review(random.Random(20)) == Review(
        text="I bought bread from a bakery in Madrid. The cake was awful. The soup was not wonderful.",
        category="food",
        sentiment="negative",
        summary="Bakery in Madrid: cake awful, soup not wonderful.",
        french="J'ai acheté du pain dans une boulangerie à Madrid. Le gâteau était affreux. "
        "La soupe n'était pas merveilleuse.",
    )


def test_there_are_all_categories_and_moods() -> None:
    assert {one.category for one in MADE} == set(TOPICS)
    assert {one.sentiment for one in MADE} == set(MOODS)


@pytest.mark.parametrize(
    ("english", "french"),
    [
        ("The room was very pleasant.", "La chambre était très agréable."),
        ("The garden was not perfect.", "Le jardin n'était pas parfait."),
        ("The story was wonderful.", "L'histoire était merveilleuse."),
        ("The actor was wonderful.", "L'acteur était merveilleux."),
    ],
)
def test_french_adjectives_agree_with_their_nouns(english: str, french: str) -> None:
    found = [one for one in itertools.islice(reviews(2), 5000) if english in one.text]
    assert found
    assert all(french in one.french for one in found)


def test_what_is_not_good_is_bad() -> None:
    found = [one for one in MADE if "was not excellent" in one.text]
    assert found
    assert {one.sentiment for one in found} == {"negative"}
    assert all("not excellent" in one.summary for one in found)


def test_a_share_is_that_of_the_texts_of_which_something_is_known() -> None:
    right = {0: {"category": "food"}, 1: {"category": "films"}}
    enriched = {0: {"category": "food"}, 1: {"category": "food"}, 2: {"category": "travel"}}
    assert share("category", enriched, right) == "0.5000"
    assert share("french", enriched, right) == "switched off"
