"""Tunes the weights of a vote or a weighted mean."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from beam_ensembles.combiners.averages import Average
from beam_ensembles.combiners.soft_vote import SoftVote
from beam_ensembles.errors import EnsembleError, listed, nearest
from beam_ensembles.evaluation.collecting import Collected
from beam_ensembles.evaluation.comparisons import bootstrap
from beam_ensembles.evaluation.labels import LIST, NUMBER, TRUTH, as_kind, listed_classes
from beam_ensembles.evaluation.recombining import vote_classes
from beam_ensembles.evaluation.request import Progress
from beam_ensembles.execution.node_records import NodeRecorder
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.kinds import CheckedNode, valid_rows
from beam_ensembles.tuning.fitting_weights import (
    least_log_loss,
    least_squares,
    log_losses,
    squared_errors,
)
from beam_ensembles.tuning.labelled import Rows, folded, score_rows
from beam_ensembles.tuning.results import Measure, Number, Tuned

_Parts: TypeAlias = Sequence[tuple[np.ndarray, np.ndarray]]
"""Rows that are held out, with the weights that were chosen without them."""
_COMBINERS = ("soft_vote", "weighted_mean")


def tune_weights(graph: EnsembleGraph, name: str, rows: Rows, show: Progress) -> Tuned:
    """Returns the weights of a combiner that lose least.

    Args:
        graph: The ensemble.
        name: The combiner.
        rows: The labelled rows.
        show: Is told how far it is.

    Raises:
        EnsembleError: The node has no weights to tune, or the label does not go with it.
    """
    node = _combiner(graph, name)
    members: list[dict[str, np.ndarray]] = []
    places: list[np.ndarray] = []
    count = 0

    def keep(recorder: NodeRecorder, length: int) -> None:
        nonlocal count
        for record in recorder.of(name):
            there = record.went_well()
            for column in node.spec.columns:
                there &= valid_rows(record.read, column)
            members.append({column: record.read[column][there] for column in node.spec.columns})
            places.append(record.rows[there] + count)
        count += length

    scored = score_rows(rows, graph, show, keep)
    loaded = next(one for one in scored.stage.nodes if one.spec.name == name)
    where = np.concatenate([np.zeros(0, np.int64), *places])
    if not len(where):
        raise EnsembleError(
            f"no row has an answer of every member of '{name}', so there is nothing to tune on"
        )
    values = {
        column: np.concatenate([part[column] for part in members]).astype(np.float64)
        for column in node.spec.columns
    }
    problem = _problem(loaded, values, scored.collected, where)
    parts = folded(len(where), rows)
    fits = [(held, problem.fit(used)) for used, held in parts]
    used = np.arange(len(where)) if rows.folds else parts[0][0]
    weights = problem.fit(used) if rows.folds else fits[0][1]
    before = _weights(node)
    old = np.concatenate([problem.losses(held, before) for held, _ in fits])
    new = np.concatenate([problem.losses(held, fit) for held, fit in fits])
    (gain,) = bootstrap((old - new)[:, None], rows.seed)
    numbers = [
        Number(f"weight of '{column}'", float(one), float(other))
        for column, one, other in zip(node.spec.columns, before, weights, strict=True)
    ]
    said = f"{problem.name} of '{name}' goes from {old.mean():.4f} to {new.mean():.4f} on the rows held out"
    interval = f"gain {gain.value:+.4f}, 95 % interval {gain.low:+.4f} to {gain.high:+.4f}"
    beyond = "" if gain.low > 0 else "; that is not beyond chance"
    cost = "the cost per row stays the same"
    idle = [column for column, weight in zip(node.spec.columns, weights, strict=True) if weight == 0]
    notes = []
    if idle:
        notes.append(f"without weight: {listed(idle)}; the ensemble may do without what makes them")
    if len(where) < scored.collected.rows:
        notes.append(
            f"{scored.collected.rows - len(where):,} rows without an answer of every member were left out"
        )
    return Tuned(
        graph=graph,
        input=rows.input,
        label=rows.label,
        rows=scored.collected.rows,
        left_out=scored.collected.rows - len(where),
        used=len(used),
        held=len(new),
        folds=rows.folds,
        verdict=f"The {said}: {interval}{beyond}; {cost}.",
        numbers=tuple(numbers),
        measures=(
            Measure(problem.name, float(old.mean()), float(new.mean()), is_share=False),
            *problem.more([(held, before) for held, _ in fits], fits),
        ),
        changes={("nodes", name, "weights"): f"[{', '.join(f'{one:g}' for one in weights)}]"},
        seed=rows.seed,
        notes=tuple(notes),
    )


def _combiner(graph: EnsembleGraph, name: str) -> CheckedNode:
    nodes = {node.spec.name: node for node in graph.nodes}
    if name not in nodes:
        raise EnsembleError(f"the file has no node '{name}'{nearest(name, nodes)}")
    node = nodes[name]
    if node.spec.kind != "combine" or node.spec.target not in _COMBINERS:
        text = f"'{name}' is {node.spec.kind}: {node.spec.target}, which has no weights to tune"
        raise EnsembleError(f"{text}; weights are those of {' and '.join(_COMBINERS)}")
    if len(node.spec.columns) < 2:
        raise EnsembleError(f"'{name}' has one member, so there are no weights to tune")
    return node


def _weights(node: CheckedNode) -> np.ndarray:
    given = node.spec.options.get("weights") or [1] * len(node.spec.columns)
    weights = np.array([float(one) for one in given])
    return np.asarray(weights / weights.sum())


@dataclasses.dataclass(frozen=True, slots=True)
class _Votes:
    """Probabilities: what each member gives the true class, ``[N, members]``, and all, ``[classes, N, members]``."""

    shares: np.ndarray
    every: np.ndarray
    true: np.ndarray
    name: str = "log loss"

    def fit(self, which: np.ndarray) -> np.ndarray:
        return least_log_loss(self.shares[which])

    def losses(self, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return log_losses(self.shares[which], weights)

    def more(self, *both: _Parts) -> list[Measure]:
        old, new = (
            float(
                np.concatenate(
                    [
                        (self.every[:, which] @ weights).argmax(axis=0) == self.true[which]
                        for which, weights in parts
                    ]
                ).mean()
            )
            for parts in both
        )
        return [Measure("accuracy", old, new)]


@dataclasses.dataclass(frozen=True, slots=True)
class _Numbers:
    values: np.ndarray
    true: np.ndarray
    name: str = "mean squared error"

    def fit(self, which: np.ndarray) -> np.ndarray:
        return least_squares(self.values[which], self.true[which])

    def losses(self, which: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return squared_errors(self.values[which], self.true[which], weights)

    def more(self, *both: _Parts) -> list[Measure]:
        return []


def _problem(
    node: CheckedNode, values: dict[str, np.ndarray], collected: Collected, where: np.ndarray
) -> _Votes | _Numbers:
    columns: Sequence[str] = node.spec.columns
    true = np.asarray(collected.labels)[where]
    member = node.kind.load(node)
    if isinstance(member, Average) and values[columns[0]].ndim == 1 and collected.kind == NUMBER:
        return _Numbers(np.stack([values[column] for column in columns], axis=1), true)
    classes = vote_classes(node)
    if not isinstance(member, SoftVote) or classes is None or collected.kind in (NUMBER, LIST):
        what = "a class" if isinstance(member, SoftVote) else "a number"
        text = f"the weights of '{node.spec.name}' are tuned where the label is {what}"
        raise EnsembleError(text if isinstance(member, SoftVote) else f"{text}, and the members are numbers")
    ordered = [
        values[column] if order is None else values[column][:, order]
        for column, order in zip(columns, member.orders, strict=True)
    ]
    try:
        codes = [collected.codes.code(_class(one, collected.kind)) for one in classes]
    except ValueError:
        text = f"the label is {collected.kind}, but the classes of '{node.spec.name}' are {listed_classes(classes)}"
        raise EnsembleError(text) from None
    places = {code: at for at, code in enumerate(codes)}
    missing = [collected.codes.classes[code] for code in set(true.tolist()) if code not in places]
    if missing:
        raise EnsembleError(f"the label has the class '{missing[0]}', which '{node.spec.name}' does not know")
    if len(set(true.tolist())) < 2:
        raise EnsembleError(
            f"all {len(true):,} rows have the same label; weights are tuned on rows of two classes or more"
        )
    at = np.array([places[code] for code in true.tolist()])
    every = np.stack(ordered)
    return _Votes(every[:, np.arange(len(at)), at].T, every.transpose(2, 1, 0), at)


def _class(value: object, kind: str) -> object:
    is_truth = kind == TRUTH and value in (0, 1)
    return bool(value) if is_truth else as_kind(value, kind, is_cell=False)
