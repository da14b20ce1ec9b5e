"""What tuning has found, as plain values for a terminal, a page and programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.tuning.targets import Target


@dataclasses.dataclass(frozen=True, slots=True)
class Number:
    """A number of the file.

    Attributes:
        name: What it is, such as ``cut`` or ``vote, weight of 'linear'``.
        before: Its value before, or None.
        after: Its tuned value.
    """

    name: str
    before: float | None
    after: float


@dataclasses.dataclass(frozen=True, slots=True)
class Measure:
    """Something that the rows held out show.

    Attributes:
        name: What it is, such as ``recall`` or ``milliseconds per row``.
        before: Its value with the numbers of the file, or None.
        after: Its value with the tuned numbers, or None where it is not defined.
        is_share: Whether it is a share of rows.
    """

    name: str
    before: float | None
    after: float | None
    is_share: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Reached:
    """What became of a target.

    Attributes:
        target: The target.
        right: How many of the rows that certify it are right.
        rows: How many these are.
        bound: The share that the true one exceeds with the stated confidence.
    """

    target: Target
    right: int
    rows: int
    bound: float


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """One candidate.

    Attributes:
        values: Its numbers.
        cost: Milliseconds per row.
        quality: The first target's share on the rows that certify.
        is_certified: Whether all targets are certain.
    """

    values: tuple[float, ...]
    cost: float
    quality: float
    is_certified: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The result of a tuning.

    Attributes:
        graph: The ensemble as it was.
        input: The file of labelled rows.
        label: The field of the known answers.
        rows: Rows of the file.
        left_out: Rows that a node failed on.
        used: Rows that the numbers were chosen on.
        held: Rows that the measures are of.
        verdict: The gain, in a sentence.
        numbers: The numbers.
        reached: The targets.
        measures: What the rows held out show.
        points: The candidates in the order in which they were tested.
        changes: The new text of each place of the file, by its keys.
        files: The content of each file beside the ensemble file that was fitted, by its name in the file.
        confidence: Of the targets, or None.
        seed: Of the split.
        folds: In how many parts all rows were held out in turn, or None.
        notes: What else to know.
    """

    graph: EnsembleGraph
    input: str
    label: str
    rows: int
    left_out: int
    used: int
    held: int
    verdict: str
    numbers: tuple[Number, ...]
    measures: tuple[Measure, ...]
    changes: Mapping[tuple[str | int, ...], str]
    reached: tuple[Reached, ...] = ()
    points: tuple[Point, ...] = ()
    files: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    confidence: float | None = None
    seed: int = 0
    folds: int | None = None
    notes: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Returns all of it as plain data."""
        found: dict[str, Any] = {
            "ensemble": self.graph.spec.name,
            "input": self.input,
            "label": self.label,
            "rows": self.rows,
            "left_out": self.left_out,
            "tuned_on": self.used,
            "held_out": self.held,
            "seed": self.seed,
            "folds": self.folds,
            "confidence": self.confidence,
            "verdict": self.verdict,
            "numbers": [dataclasses.asdict(one) for one in self.numbers],
            "targets": [
                {"target": str(one.target), "right": one.right, "rows": one.rows, "at_least": one.bound}
                for one in self.reached
            ],
            "measures": [
                {"name": one.name, "before": one.before, "after": one.after} for one in self.measures
            ],
            "candidates": [dataclasses.asdict(one) for one in self.points],
            "notes": list(self.notes),
        }
        return found
