"""Writes support tickets in three languages, with the right answers for each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

PRODUCTS = ("CamEye", "HomeBox", "PadView", "TalkOne")
LANGUAGES = ("de", "en", "fr")
PROBLEMS = {  # of each category: a summary, and the problem in German, English and French
    "account": (
        ("login fails", "die Anmeldung wird abgelehnt", "my login is refused", "ma connexion est refusée"),
        ("password lost", "das Passwort ist weg", "my password is lost", "mon mot de passe est perdu"),
        ("name wrong", "mein Name im Profil ist falsch", "my name in the profile is wrong", "mon nom est faux"),
        ("no reset mail", "die Mail mit dem Code fehlt", "the mail with the code is missing", "le code n'arrive pas"),
    ),
    "billing": (
        ("charged twice", "es wurde doppelt abgebucht", "I was charged twice", "j'ai été débité deux fois"),
        ("price too high", "der Preis ist zu hoch", "the price is too high", "le prix est trop élevé"),
        ("refund missing", "die Erstattung ist nicht da", "the refund is not there", "le remboursement manque"),
        ("no invoice", "ich habe keine Rechnung", "I have no invoice", "je n'ai pas de facture"),
    ),
    "delivery": (
        ("parcel late", "das Paket kommt zu spät", "the parcel is late", "le colis est en retard"),
        ("box damaged", "der Karton ist beschädigt", "the box is damaged", "le carton est abîmé"),
        ("wrong address", "die Lieferung ging an meine alte Adresse", "it went to my old address",
         "la livraison est partie à mon ancienne adresse"),
        ("part missing", "ein Kabel lag nicht bei", "a cable is not in the box", "il manque un câble"),
    ),
    "fault": (
        ("does not start", "das Gerät startet nicht", "the device does not start", "l'appareil ne démarre pas"),
        ("screen dark", "der Bildschirm bleibt dunkel", "the screen stays dark", "l'écran reste noir"),
        ("too hot", "es wird zu heiß", "it gets too hot", "il devient trop chaud"),
        ("no network", "das Netz fällt aus", "the network fails", "le réseau tombe en panne"),
    ),
}  # fmt: skip
CATEGORIES = tuple(PROBLEMS)
ABOUT = {"de": "Es geht um mein {}.", "en": "It is about my {}.", "fr": "Il s'agit de mon {}."}
GREETINGS = {
    "de": ("Hallo!", "Guten Tag!", ""),
    "en": ("Hello!", "Good morning!", ""),
    "fr": ("Bonjour !", "Madame, Monsieur,", ""),
}
HURRY = {  # of each urgency: what says so
    1: {"de": "Es eilt nicht.", "en": "There is no hurry.", "fr": "Rien ne presse."},
    2: {"de": "", "en": "", "fr": ""},
    3: {"de": "Es ist dringend!", "en": "This is urgent!", "fr": "C'est urgent !"},
}
OLD_AND_NEW = {
    "de": "Erledigt: {}. Neu: {}.",
    "en": "Solved: {}. New: {}.",
    "fr": "Résolu : {}. Nouveau : {}.",
}
NAMES = ("Anna", "Ben", "Chloé", "David", "Emma", "Felix", "Jana", "Léo", "Mia", "Noah", "Sofia", "Tom")
HARD = 0.25
"""How many tickets tell of an old problem, too: only the order of their words says which one is the new one."""


class Ticket(NamedTuple):
    """A ticket, and what is right about it; a product of which it says nothing is None."""

    ticket: str
    category: str
    urgency: int
    product: str | None
    summary: str
    language: str


def ticket(draw: random.Random) -> Ticket:
    """Writes one ticket."""
    language, category = draw.choice(LANGUAGES), draw.choice(CATEGORIES)
    summary, problem = _problem(category, language, draw)
    product, urgency = draw.choice((*PRODUCTS, None)), draw.choice(tuple(HURRY))
    if draw.random() < HARD:
        other = draw.choice([one for one in CATEGORIES if one != category])
        said = [OLD_AND_NEW[language].format(_problem(other, language, draw)[1], problem)]
    else:
        said = [f"{problem[0].upper()}{problem[1:]}."]
    if product is not None:
        said.insert(draw.choice((0, len(said))), ABOUT[language].format(product))
    parts = [draw.choice(GREETINGS[language]), *said, HURRY[urgency][language], draw.choice(NAMES)]
    return Ticket(" ".join(filter(None, parts)), category, urgency, product, summary, language)


def tickets(seed: int) -> Iterator[Ticket]:
    """Writes different tickets without end."""
    draw = random.Random(seed)  # noqa: S311  # it is about the same tickets again, not about secrets
    seen: set[str] = set()
    while True:
        one = ticket(draw)
        if one.ticket not in seen:
            seen.add(one.ticket)
            yield one


def _problem(category: str, language: str, draw: random.Random) -> tuple[str, str]:
    summary, *said = draw.choice(PROBLEMS[category])
    return summary, said[LANGUAGES.index(language)]
