"""``model: acme_scorecard``: points for each column, in a JSON file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.errors import InvalidEnsemble, ModelFormatError, Problem, listed
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.handlers.support.model_file import FileOptions, check_file, verified
from beam_ensembles.types import DOUBLE, Type, dtype_of, row_shape

LARGEST_FILE = 1_000_000


class ScorecardKind(Kind[FileOptions]):
    """Adds the points of a row's columns: ``{"start": 1.0, "points": {"age": 0.5}}``."""

    kind = "model"
    name = "acme_scorecard"
    summary = "Adds points for each column, from a JSON file."
    takes = "The columns that the file has points for: a number each."
    gives = "score: a double."
    options = FileOptions

    def check(self, node: NodeView[FileOptions]) -> Mapping[str, Type | None]:
        """Checks the columns, and the file where it is on this machine; no value of a row is known yet."""
        place = check_file(node)
        for at, column in enumerate(node.spec.columns):
            type_ = node.inputs.get(column)
            if type_ is not None and not is_number(type_):
                node.problem(
                    "type_mismatch", f"inputs[{at}]", f"'{column}' is {type_}; points are for numbers"
                )
        path = None if place is None else local_path(place)
        if path is not None:
            try:
                lacking = sorted(set(node.spec.columns) ^ set(read(path).points))
            except (ModelFormatError, OSError) as error:
                node.problem("bad_model_file", "uri", f"'{path}': {error}")
            else:
                if lacking:
                    text = f"the columns and those of the file differ in {listed(lacking)}"
                    node.problem("signature_mismatch", "inputs", text)
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, ["score"]), DOUBLE))

    def load(self, node: CheckedNode[FileOptions]) -> Member:
        """Reads the file on a worker, once it is known to be the pinned one."""
        try:
            with verified(node) as path:
                return Scorer(read(path), tuple(node.outputs))
        except ModelFormatError as error:
            problem = Problem(node.spec.path("uri"), "bad_model_file", f"'{node.uri}': {error}")
            raise InvalidEnsemble([problem]) from error


@dataclasses.dataclass(frozen=True, slots=True)
class Scorecard:
    """Points for each column, and what every row starts with."""

    start: float
    points: Mapping[str, float]


@dataclasses.dataclass(frozen=True, slots=True)
class Scorer:
    """Scores all rows of a batch at once; every column holds one item per row."""

    card: Scorecard
    outputs: tuple[str, ...]

    def __call__(self, columns: Columns) -> Columns:
        """Adds the points."""
        rows = len(next(iter(columns.values())))
        score = np.full(rows, self.card.start)
        for column, points in self.card.points.items():
            score += points * columns[column]
        return dict.fromkeys(self.outputs, score)


def is_number(type_: Type) -> bool:
    """Whether a column has one number per row."""
    dtype = dtype_of(type_)
    return dtype is not None and dtype.kind in "fiu" and not row_shape(type_)


def read(path: str) -> Scorecard:
    """Reads a scorecard.

    Raises:
        ModelFormatError: It is none.
    """
    with open(path, "rb") as file:
        text = file.read(LARGEST_FILE + 1)
    try:
        data: Any = json.loads(text) if len(text) <= LARGEST_FILE else None
        points = {str(name): float(value) for name, value in data["points"].items()}
        return Scorecard(float(data["start"]), points)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        wanted = '{"start": 1.0, "points": {"age": 0.5}}'
        raise ModelFormatError(f"the file is not a scorecard such as {wanted}") from error
