"""The questions of a node: read from its file, sent to the server, and the columns that their answers have."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.graph.options import Mistake
from beam_ensembles.spec.places import below
from beam_ensembles.types import DOUBLE, STRING, Array, Type

FORM: Final = "a statement, {ask: TEXT, choices: [TEXT, ...]} or {ask: TEXT, levels: [TEXT, ...]}"
"""A question of a node; of a statement the probability is wanted that it is true."""
PROBABILITIES: Final = "_probabilities"
CONFIDENCE: Final = "_confidence"
"""What follows the name of a question in the names of its further outputs."""
_KEYS: Final = ("ask", "choices", "levels")
_FEWEST: Final = 2
_MOST: Final = 255
MOST_QUESTIONS: Final = 400
"""The most that the interface takes."""


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """A question of a node.

    Attributes:
        name: Its name, which its output has too.
        ask: The text of the question, or the statement.
        kind: ``predicate``, ``choice`` or ``score``, as the interface calls them.
        texts: The choices, or the labels of the levels, the lowest first.
    """

    name: str
    ask: str
    kind: str
    texts: tuple[str, ...] = ()

    @property
    def outputs(self) -> dict[str, Type]:
        """The outputs that its answers give, with their types."""
        if self.kind == "predicate":
            return {self.name: DOUBLE}
        return {
            self.name: STRING if self.kind == "choice" else DOUBLE,
            self.name + PROBABILITIES: Array(DOUBLE, (len(self.texts),)),
            self.name + CONFIDENCE: DOUBLE,
        }

    def request(self) -> dict[str, Any]:
        """Returns it as the interface takes it."""
        found: dict[str, Any] = {"type": self.kind, "name": self.name, "instructions": self.ask}
        if self.kind == "choice":
            found["choices"] = [{"value": text} for text in self.texts]
        elif self.kind == "score":
            found["levels"] = [{"label": text} for text in self.texts]
        return found


def read_questions(given: Mapping[str, Any]) -> tuple[Question, ...]:
    """Returns the questions of a node without mistakes (``mistakes_in``)."""
    return tuple(_read(str(name), value) for name, value in given.items())


def _read(name: str, value: Any) -> Question:
    if isinstance(value, str):
        return Question(name, value, "predicate")
    kind, texts = ("choice", value["choices"]) if "choices" in value else ("score", value["levels"])
    return Question(name, value["ask"], kind, tuple(texts))


def mistakes_in(given: Mapping[str, Any]) -> Iterator[Mistake]:
    """Finds questions that are not of the form."""
    if not 1 <= len(given) <= MOST_QUESTIONS:
        text = f"there are {len(given)} questions; a node has 1 to {MOST_QUESTIONS}"
        yield Mistake("questions", "bad_value", text)
    for name, value in given.items():
        place = below("questions", str(name))
        if isinstance(value, str) and value:
            continue
        if not isinstance(value, Mapping):
            yield Mistake(place, "bad_value", f"the question is {value!r}; it is {FORM}")
            continue
        for key in value:
            if key not in _KEYS:
                text = f"a question takes no key {key!r}{nearest(str(key), _KEYS)} (keys: {listed(_KEYS)})"
                yield Mistake(below(place, str(key)), "unknown_option", text)
        if not isinstance(value.get("ask"), str) or not value["ask"]:
            yield Mistake(below(place, "ask"), "bad_value", f"'ask' is {value.get('ask')!r}; it is a text")
        lists = [key for key in ("choices", "levels") if key in value]
        if len(lists) != 1:
            yield Mistake(
                place, "bad_value", "a question has 'choices' or 'levels'; a statement alone is a text"
            )
        yield from _wrong_texts(place, lists, value)


def _wrong_texts(place: str, keys: Sequence[str], value: Mapping[str, Any]) -> Iterator[Mistake]:
    for key in keys:
        texts = value[key]
        if (
            not isinstance(texts, list)
            or not _FEWEST <= len(texts) <= _MOST
            or not all(isinstance(text, str) and text for text in texts)
            or len(set(texts)) < len(texts)
        ):
            text = f"'{key}' is {texts!r}; it is a list of {_FEWEST} to {_MOST} different texts"
            yield Mistake(below(place, key), "bad_value", text)
