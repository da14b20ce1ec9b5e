"""Generates short English reviews, with the right answers for each: its category, mood, summary, French translation."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

CITIES = ("Berlin", "Madrid", "Munich", "Nice", "Oslo", "Paris", "Prague", "Tokyo")
DEGREES = {"": "", "very ": "très ", "really ": "vraiment "}
ADJECTIVES = {  # of each mood: English, French of a masculine and of a feminine noun
    "positive": (
        ("excellent", "excellent", "excellente"),
        ("perfect", "parfait", "parfaite"),
        ("pleasant", "agréable", "agréable"),
        ("wonderful", "merveilleux", "merveilleuse"),
    ),
    "negative": (
        ("awful", "affreux", "affreuse"),
        ("boring", "ennuyeux", "ennuyeuse"),
        ("poor", "médiocre", "médiocre"),
        ("disappointing", "décevant", "décevante"),
    ),
}
MOODS = tuple(ADJECTIVES)


class Thing(NamedTuple):
    """Something that reviews are about, in English and in French, and the sentence that a review of it begins with."""

    name: str
    english: str
    french: str


class Topic(NamedTuple):
    """A category: what its reviews are about, and what they praise or blame (English, French, whether feminine)."""

    things: Sequence[Thing]
    aspects: Sequence[tuple[str, str, bool]]


TOPICS = {
    "travel": Topic(
        (
            Thing("Hotel", "We stayed in a hotel in", "Nous avons dormi dans un hôtel à"),
            Thing("Campsite", "We camped on a campsite in", "Nous avons campé dans un camping à"),
        ),
        (
            ("room", "La chambre", True),
            ("pool", "La piscine", True),
            ("garden", "Le jardin", False),
            ("beach", "La plage", True),
        ),
    ),
    "food": Topic(
        (
            Thing("Restaurant", "I ate in a restaurant in", "J'ai mangé dans un restaurant à"),
            Thing("Bakery", "I bought bread from a bakery in", "J'ai acheté du pain dans une boulangerie à"),
        ),
        (
            ("soup", "La soupe", True),
            ("cake", "Le gâteau", False),
            ("cheese", "Le fromage", False),
            ("salad", "La salade", True),
        ),
    ),
    "technology": Topic(
        (
            Thing("Phone", "I ordered a phone in", "J'ai commandé un téléphone à"),
            Thing("Laptop", "I repaired a laptop in", "J'ai réparé un ordinateur à"),
        ),
        (
            ("screen", "L'écran", False),
            ("battery", "La batterie", True),
            ("keyboard", "Le clavier", False),
            ("speaker", "Le haut-parleur", False),
        ),
    ),
    "films": Topic(
        (
            Thing("Comedy", "We watched a comedy in", "Nous avons regardé une comédie à"),
            Thing("Thriller", "We watched a thriller in", "Nous avons regardé un thriller à"),
        ),
        (
            ("story", "L'histoire", True),
            ("music", "La musique", True),
            ("ending", "La fin", True),
            ("actor", "L'acteur", False),
        ),
    ),
}


class Review(NamedTuple):
    """A text, and what is right about it."""

    text: str
    category: str
    sentiment: str
    summary: str
    french: str


def review(draw: random.Random) -> Review:
    """Creates one review."""
    category, mood, city = draw.choice(list(TOPICS)), draw.choice(MOODS), draw.choice(CITIES)
    thing = draw.choice(TOPICS[category].things)
    aspects = draw.sample(TOPICS[category].aspects, 2)
    said = [_said(aspect, mood, draw) for aspect in aspects]
    return Review(
        text=" ".join([f"{thing.english} {city}.", *(english for english, _, _ in said)]),
        category=category,
        sentiment=mood,
        summary=f"{thing.name} in {city}: {', '.join(short for _, short, _ in said)}.",
        french=" ".join([f"{thing.french} {city}.", *(french for _, _, french in said)]),
    )


def reviews(seed: int) -> Iterator[Review]:
    """Creates reviews without end."""
    draw = random.Random(seed)  # noqa: S311  # it is about the same reviews again, not about secrets
    while True:
        yield review(draw)


def _said(aspect: tuple[str, str, bool], mood: str, draw: random.Random) -> tuple[str, str, str]:
    """Returns how something was: in English, shortly, and in French. Sometimes it is not what it might have been."""
    name, french_name, is_feminine = aspect
    if draw.random() < 0.3:
        other = MOODS[1 - MOODS.index(mood)]
        english, *french = draw.choice(ADJECTIVES[other])
        short = f"{name} not {english}"
        return f"The {name} was not {english}.", short, f"{french_name} n'était pas {french[is_feminine]}."
    degree = draw.choice(list(DEGREES))
    english, *french = draw.choice(ADJECTIVES[mood])
    translated = f"{french_name} était {DEGREES[degree]}{french[is_feminine]}."
    return f"The {name} was {degree}{english}.", f"{name} {english}", translated
