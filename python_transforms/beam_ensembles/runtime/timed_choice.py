"""Which of two ways is faster is tried out sometimes: it depends on models, batches and what the machine does."""

from __future__ import annotations

from typing import Final

RUNS: Final = 32
"""How often the faster way is taken before both are tried anew."""


class Trials:
    """Chooses between a plain way and one that may be faster. For one thread.

    The first run is the plain way's, and not counted: models are slow the first time. Then both are run once and the
    faster one ``RUNS`` times, again and again.
    """

    def __init__(self) -> None:
        self._run = -3  # -3 is not counted, -2 and -1 compare, from 0 on the faster way runs
        self._plain = self._other = 0.0

    @property
    def takes_other(self) -> bool:
        """Whether the next run is the other way's."""
        return self._run == -1 or (self._run >= 0 and self._other < self._plain)

    def took(self, time: float) -> None:
        """Notes how long the next run took.

        Args:
            time: Of what ``takes_other`` said, for the same amount of work each time.
        """
        if self._run == -2:
            self._plain = time
        elif self._run == -1:
            self._other = time
        self._run = self._run + 1 if self._run < RUNS - 1 else -2
