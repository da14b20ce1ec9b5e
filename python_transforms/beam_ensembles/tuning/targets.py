"""What tuned cut-offs must reach: ``recall >= 0.9``, ``agreement with forest >= 0.98``."""

from __future__ import annotations

import dataclasses
import re
from typing import Final

ACCURACY: Final = "accuracy"
RECALL: Final = "recall"
PRECISION: Final = "precision"
AGREEMENT: Final = "agreement"

ALLOWED: Final = "'accuracy >= X', 'recall >= X', 'precision >= X', 'agreement with NODE >= X'"
_TARGET: Final = re.compile(
    r"\s*(?:(accuracy|recall|precision)|agreement\s+with\s+([\w-]+))\s*>=\s*([0-9.]+(?:[eE]-?\d+)?)\s*"
)


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """A share of rows that must be reached.

    Attributes:
        measure: ``ACCURACY``, ``RECALL``, ``PRECISION`` or ``AGREEMENT``.
        least: The share, between 0 and 1.
        member: The node that the ensemble must agree with, or empty.
    """

    measure: str
    least: float
    member: str = ""

    @property
    def name(self) -> str:
        """The measure, such as ``agreement with forest``."""
        return f"{self.measure} with {self.member}" if self.member else self.measure

    def __str__(self) -> str:
        return f"{self.name} >= {self.least:g}"


def read_target(text: str) -> Target:
    """Returns the target that a text names.

    Raises:
        ValueError: It names none.
    """
    found = _TARGET.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:60]!r} is not a target; allowed: {ALLOWED}")
    try:
        least = float(found[3])
    except ValueError:
        least = -1.0
    if not 0 < least < 1:
        raise ValueError(f"the target {text[:60]!r} must be a share between 0 and 1, such as 0.95")
    return Target(found[1] or AGREEMENT, least, found[2] or "")
