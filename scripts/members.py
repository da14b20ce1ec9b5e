"""The digits example, whose models other tests use too."""

from __future__ import annotations

from scripts.example import Example
from scripts.layout import DEMO
from scripts.toolchains import maven, python

DIGITS = Example(
    "digits",
    java="digits.Digits",
    scored=540,
    rows="heldout.jsonl",
    made=DEMO,
    jar=maven.DIGITS_JAR,
    lock=python.DEMO_LOCK,
)
MODELS = DIGITS.models
HELDOUT = DIGITS.input


def train() -> str:
    """Trains the members and writes the held-out images."""
    return DIGITS.make_models()
