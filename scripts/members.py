"""Trains the members of the digits ensemble, when the code that does is not that of the last time."""

from __future__ import annotations

from scripts.layout import DEMO, DIGITS, PYTHON, relative
from scripts.made import Made
from scripts.shell import log_path, run
from scripts.toolchains import python

MODELS = DIGITS / "models"
HELDOUT = DEMO / "heldout.jsonl"
_TRAIN = DIGITS / "train.py"
_TRAINED = Made(MODELS / ".made", (HELDOUT,), lambda: [_TRAIN, python.DEMO_LOCK])


def train() -> str:
    """Trains the members and writes the held-out images."""
    if _TRAINED.current():
        return f"{relative(MODELS)}, up to date"
    _TRAINED.forget()
    run([PYTHON, _TRAIN, "--models", MODELS, "--heldout", HELDOUT], log=log_path("train"))
    _TRAINED.remember()
    return f"{relative(MODELS)}, {relative(HELDOUT)}"
