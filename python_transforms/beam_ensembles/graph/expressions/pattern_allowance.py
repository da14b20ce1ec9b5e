"""How much the regular expressions of a file may be together; apart from ``patterns``, for files without any."""

from __future__ import annotations

import contextlib
from typing import Final

from beam_ensembles.allowance import Allowance
from beam_ensembles.limits import MOST_IN_PATTERNS

CHARACTERS: Final = Allowance("patterns")
"""Counts the characters that a file's patterns may still stand for."""


def few_patterns() -> contextlib.AbstractContextManager[None]:
    """Limit the patterns that ``check_patterns`` passes within a block to ``limits.MOST_IN_PATTERNS`` characters."""
    return CHARACTERS.of(MOST_IN_PATTERNS)
