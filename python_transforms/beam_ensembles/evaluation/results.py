"""What an evaluation has found, as plain values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from beam_ensembles.evaluation.comparisons import Difference, McNemar
from beam_ensembles.graph import EnsembleGraph

Metrics = Mapping[str, float | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Curves:
    """Points for diagrams.

    Attributes:
        reliability: The mean probability, the share that came true, and the rows of each bin.
        roc: False against true positives.
        precision: Recall against precision.
        confusion: Rows by their class and the answered one.
    """

    reliability: list[tuple[float, float, int]] = dataclasses.field(default_factory=list)
    roc: list[tuple[float, float]] = dataclasses.field(default_factory=list)
    precision: list[tuple[float, float]] = dataclasses.field(default_factory=list)
    confusion: list[list[int]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """The ensemble, or a node on its own.

    Attributes:
        name: Its name.
        role: ``ensemble``, or the key of the node that says what it runs.
        columns: The columns that its answer is in.
        rows: How many rows it has answered.
        metrics: Its metrics on these rows.
        curves: Points for diagrams.
        note: What a reader must know of it, or empty.
    """

    name: str
    role: str
    columns: tuple[str, ...]
    rows: int
    metrics: Metrics
    curves: Curves
    note: str = ""

    def as_data(self) -> dict[str, Any]:
        """Returns it for programs."""
        return {
            "name": self.name,
            "role": self.role,
            "columns": list(self.columns),
            "rows": self.rows,
            "metrics": dict(self.metrics),
            **({"confusion": self.curves.confusion} if self.curves.confusion else {}),
            **({"note": self.note} if self.note else {}),
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """The ensemble beside something else, on the rows that both have answered.

    Attributes:
        name: What the ensemble is compared with.
        rows: How many rows.
        gains: By how much the ensemble is better, by metric; above zero is better whatever the metric.
        test: McNemar's test, for labels.
    """

    name: str
    rows: int
    gains: Mapping[str, Difference]
    test: McNemar | None = None

    def as_data(self) -> dict[str, Any]:
        """Returns it for programs."""
        return {
            "name": self.name,
            "rows": self.rows,
            "gains": {name: dataclasses.asdict(one) for name, one in self.gains.items()},
            **({} if self.test is None else {"mcnemar": dataclasses.asdict(self.test)}),
        }


@dataclasses.dataclass(frozen=True, slots=True)
class LeftOut:
    """A combiner without one of its members.

    Attributes:
        combiner: The combiner.
        member: The member that is left out.
        rows: How many rows it has answered so.
        metrics: Its metrics without the member.
        gains: By how much the combiner is better with the member, on the rows answered both ways.
    """

    combiner: str
    member: str
    rows: int
    metrics: Metrics
    gains: Mapping[str, Difference]

    def as_data(self) -> dict[str, Any]:
        """Returns it for programs."""
        gains = {name: dataclasses.asdict(one) for name, one in self.gains.items()}
        return {
            "combiner": self.combiner,
            "without": self.member,
            "rows": self.rows,
            "metrics": dict(self.metrics),
            "gains_of_member": gains,
        }


@dataclasses.dataclass(frozen=True, slots=True)
class Slice:
    """The rows with one value of a field.

    Attributes:
        value: The value.
        rows: How many rows.
        metrics: The ensemble's metrics on them.
        p_value: How likely chance alone makes the slice so much worse than the other rows, corrected for their number.
        is_worse: Whether it is worse beyond chance.
    """

    value: str
    rows: int
    metrics: Metrics
    p_value: float
    is_worse: bool

    def as_data(self) -> dict[str, Any]:
        """Returns it for programs."""
        return {**dataclasses.asdict(self), "metrics": dict(self.metrics)}


@dataclasses.dataclass(frozen=True, slots=True)
class Cost:
    """What a node has cost.

    Attributes:
        name: The node.
        runs: What it runs.
        when: Its condition, or empty.
        asked: Rows that it ran on.
        through: The share of the rows that its condition let through; None where it has none.
        failed: Rows that it failed on.
        calls: Batches that it ran on.
        milliseconds: How long all its calls took.
        per_row: Milliseconds for each row that it ran on.
        share: Its share of the time of all nodes.
    """

    name: str
    runs: str
    when: str
    asked: int
    through: float | None
    failed: int
    calls: int
    milliseconds: float
    per_row: float
    share: float


@dataclasses.dataclass(frozen=True, slots=True)
class Evaluation:
    """The results of an evaluation.

    Attributes:
        graph: The ensemble.
        input: The file of labelled rows.
        label: The field of the known answers.
        task: ``labels``, ``numbers`` or ``lists``.
        rows: How many rows the file has.
        failed: How many rows the ensemble has no answer for, by node and code.
        classes: The classes, in the order of confusion tables; none for other tasks.
        positive: The positive class as text; empty where there is none.
        metric_names: The metrics with their names on tables.
        main: The metric by which members are compared.
        judged: The ensemble, then the nodes.
        compared: The ensemble beside each node, the best of them first.
        left_out: Combiners without each of their members.
        disagreement: Of each pair of subjects how often they differ, or by how much.
        costs: What each node has cost.
        by: The field of the slices, or empty.
        slices: Its values, the worst first.
        notes: What a reader must know.
        settings: What the numbers depend on beside the rows, such as the seed.
    """

    graph: EnsembleGraph
    input: str
    label: str
    task: str
    rows: int
    failed: Mapping[tuple[str, str], int]
    classes: tuple[str, ...]
    positive: str
    metric_names: Mapping[str, str]
    main: str
    judged: tuple[Judged, ...]
    compared: tuple[Compared, ...]
    left_out: tuple[LeftOut, ...]
    disagreement: tuple[tuple[str, str, float], ...]
    costs: tuple[Cost, ...]
    by: str
    slices: tuple[Slice, ...]
    notes: tuple[str, ...]
    settings: Mapping[str, Any]

    @property
    def ensemble(self) -> Judged:
        """The ensemble itself."""
        return self.judged[0]

    def as_data(self) -> dict[str, Any]:
        """Returns it as plain data, as ``beam-ensembles evaluate --json`` prints it."""
        return {
            "ensemble": self.graph.spec.name,
            "input": self.input,
            "label": self.label,
            "task": self.task,
            "rows": self.rows,
            "failed": [
                {"node": node, "code": code, "rows": rows} for (node, code), rows in self.failed.items()
            ],
            "classes": list(self.classes),
            "positive": self.positive or None,
            "compared_by": self.main,
            "subjects": [one.as_data() for one in self.judged],
            "comparisons": [one.as_data() for one in self.compared],
            "leave_one_out": [one.as_data() for one in self.left_out],
            "disagreement": [
                {"one": one, "other": other, "value": value} for one, other, value in self.disagreement
            ],
            "costs": [dataclasses.asdict(one) for one in self.costs],
            "by": self.by or None,
            "slices": [one.as_data() for one in self.slices],
            "notes": list(self.notes),
            "settings": dict(self.settings),
        }
