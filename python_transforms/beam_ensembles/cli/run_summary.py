"""What became of a file of rows: for people and for programs."""

from __future__ import annotations

import collections
import dataclasses
import sys
from typing import TYPE_CHECKING, Any

from beam_ensembles.cli.ensemble_file import GREEN, RED, coloured
from beam_ensembles.cli.output import counted

if TYPE_CHECKING:
    from beam_ensembles.execution.drifts import Drift


@dataclasses.dataclass(slots=True)
class Summary:
    """What became of a file of rows.

    Attributes:
        ensemble: Name of the ensemble.
        input: The file of rows.
        output: The file of scored rows.
        errors: The file of failed rows.
        scored: How many rows were scored.
        failures: How many rows failed, by node and code; the node of a row that was not as declared is empty.
        loading_seconds: How long it took until the first row was read.
        seconds: How long scoring took, reading and writing included.
        drifts: The inputs that are not like their profile; None where the ensemble names none.
    """

    ensemble: str
    input: str
    output: str
    errors: str
    scored: int = 0
    failures: collections.Counter[tuple[str, str]] = dataclasses.field(default_factory=collections.Counter)
    loading_seconds: float = 0.0
    seconds: float = 0.0
    drifts: tuple[Drift, ...] | None = None

    @property
    def failed(self) -> int:
        """How many rows failed."""
        return self.failures.total()

    @property
    def rows_per_second(self) -> float:
        """How many rows were read a second."""
        return (self.scored + self.failed) / self.seconds if self.seconds else 0.0

    def as_data(self) -> dict[str, Any]:
        """Returns the summary for programs."""
        return {
            "ensemble": self.ensemble,
            "input": self.input,
            "output": self.output,
            "errors": self.errors if self.failed else None,
            "rows": self.scored + self.failed,
            "scored": self.scored,
            "failed": self.failed,
            "failures": [
                {"node": node, "code": code, "rows": rows}
                for (node, code), rows in self.failures.most_common()
            ],
            "loading_seconds": round(self.loading_seconds, 3),
            "seconds": round(self.seconds, 3),
            "rows_per_second": round(self.rows_per_second, 1),
            **({} if self.drifts is None else {"drifts": [drift.as_data() for drift in self.drifts]}),
        }

    def as_text(self) -> str:
        """Returns the summary for people."""
        word = "PARTLY" if self.scored else "FAILED"
        state = coloured(word, RED, sys.stdout) if self.failed else coloured("OK", GREEN, sys.stdout)
        counts = f"{counted(self.scored + self.failed)} read, {self.scored:,} scored, {self.failed:,} failed"
        speed = f"{self.seconds:.1f} s ({self.rows_per_second:,.0f} rows/s)"
        lines = [
            f"{state} ensemble '{self.ensemble}': {counts}",
            f"  time    {speed}, after {self.loading_seconds:.1f} s of loading",
            f"  output  {self.output}",
        ]
        if self.failed:
            lines.append(f"  errors  {self.errors}")
        for (node, code), rows in self.failures.most_common():
            place = f"nodes.{node}" if node else "the row itself"
            lines.append(f"    {counted(rows)}: [{code}] {place}")
        warning = coloured("WARNING", RED, sys.stdout)
        lines += [f"{warning} {drift}" for drift in self.drifts or ()]
        return "\n".join(lines)
