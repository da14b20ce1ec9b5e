"""Where a row's answers come from: the column that ``provenance`` adds."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np

from beam_ensembles.columns.batch import ColumnBatch, ignored
from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.execution.files_digest import digest_of
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.types import Type, parse_type

COLUMN: Final = "provenance"
TYPE: Final[Type] = parse_type(
    "row<ensemble: string, digest: string, route: map<string,string>, errors_ignored: array<string>>"
)
"""Name of the ensemble, digest of its file and models, the arm of each route, the nodes whose errors were ignored."""


def with_provenance(graph: EnsembleGraph) -> EnsembleGraph:
    """Adds the column to an ensemble's outputs.

    Raises:
        InvalidEnsemble: ``column_exists``: the ensemble has a column of that name.
    """
    made = [*dict(graph.spec.inputs), *(column for node in graph.nodes for column in node.outputs)]
    if COLUMN in made:
        text = f"the ensemble has a column '{COLUMN}' of its own; rename it, or do without 'provenance'"
        raise InvalidEnsemble([Problem(COLUMN, "column_exists", text)], ensemble=graph.spec.name)
    return dataclasses.replace(graph, outputs=(*graph.outputs, (COLUMN, TYPE)))


@dataclasses.dataclass(frozen=True, slots=True)
class Provenance:
    """What the column holds of every row.

    Attributes:
        ensemble: Name of the ensemble.
        digest: Digest of its file and models.
        routes: Each route and its column.
        nodes: The nodes whose errors may be ignored.
    """

    ensemble: str
    digest: str
    routes: tuple[tuple[str, str], ...]
    nodes: tuple[str, ...]

    @classmethod
    def of(cls, graph: EnsembleGraph) -> Provenance | None:
        """Creates it for an ensemble; None where its outputs have no such column (``with_provenance``)."""
        if (COLUMN, TYPE) not in graph.outputs:
            return None
        ignoring = tuple(
            node.spec.name for node in graph.nodes if node.on_error.action in ("nullify", "default")
        )
        return cls(graph.spec.name, digest_of(graph), routes_of(graph.nodes), ignoring)

    def add(self, batch: ColumnBatch) -> None:
        """Adds the column to a batch whose nodes have all run."""
        rows = len(batch)
        if not rows:
            return  # where every row has failed, no column is sure to be there
        values: list[dict[str, Any]] = [
            {"ensemble": self.ensemble, "digest": self.digest, "route": {}, "errors_ignored": []}
        ] * rows
        notes = [
            (name, batch.columns[ignored(name)]) for name in self.nodes if ignored(name) in batch.columns
        ]
        if self.routes or notes:
            values = [{**value, "route": {}, "errors_ignored": []} for value in values]
        for name, column in self.routes:
            present = batch.present(column).tolist()
            for value, arm, has_arm in zip(values, batch.columns[column].tolist(), present, strict=True):
                if has_arm:
                    value["route"][name] = arm
        for name, which in notes:
            for at in np.flatnonzero(which).tolist():
                values[at]["errors_ignored"].append(name)
        batch.add({COLUMN: np.fromiter(values, dtype=object, count=rows)})


def routes_of(nodes: tuple[CheckedNode, ...]) -> tuple[tuple[str, str], ...]:
    """Returns each route with the column of its arms."""
    return tuple((node.spec.name, next(iter(node.outputs))) for node in nodes if node.spec.kind == "route")
