"""What the collected answers amount to: metrics of each subject, what the ensemble gains, slices, costs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import EnsembleError
from beam_ensembles.evaluation import labels
from beam_ensembles.evaluation.answer_values import Answers
from beam_ensembles.evaluation.collecting import Collected, NodeCost
from beam_ensembles.evaluation.comparisons import (
    Difference,
    bootstrap,
    mcnemar,
    worse_than_others,
)
from beam_ensembles.evaluation.judging import Judge, judge_for
from beam_ensembles.evaluation.request import Request
from beam_ensembles.evaluation.results import Compared, Cost, Evaluation, Judged, LeftOut, Slice
from beam_ensembles.evaluation.subjects import ENSEMBLE, LABEL_TASK, LIST_TASK, NUMBER_TASK, Subject
from beam_ensembles.graph import EnsembleGraph

ALPHA: Final = 0.05
"""Slices whose corrected p-value is below that are worse beyond chance."""


def findings_of(request: Request, graph: EnsembleGraph, collected: Collected) -> Evaluation:
    """Returns what the collected answers amount to.

    Raises:
        EnsembleError: The ensemble has answered no row.
    """
    judge = judge_for(collected, request.positive, request.k, request.quantile)
    answers = [collected.answers(at) for at in range(len(collected.subjects) + len(collected.without))]
    subjects = collected.subjects
    judged = tuple(_all_judged(subjects, answers, judge))
    if not answers[0].there.any():
        node, failure = next(iter(collected.failed), ("", ""))
        why = f": the first failure is [{failure}] of node '{node}'" if failure else ""
        raise EnsembleError(f"the ensemble has no answer for any of the {collected.rows:,} rows{why}")
    main = next(iter(judge.losses(answers[0], answers[0].there)))
    members = [
        at for at, one in enumerate(subjects) if at and one.answer.columns != subjects[0].answer.columns
    ]
    whole = _with_members(collected)
    pairs = [(answers[0], answers[at]) for at in members]
    pairs += [(answers[own], answers[at]) for at, own in whole]
    gains = _gains(request, pairs, judge)
    compared = [
        _compared(subjects[at], answers[0], answers[at], gain, judge)
        for at, gain in zip(members, gains, strict=False)
    ]
    by = request.by or ""
    return Evaluation(
        graph=graph,
        input=request.input,
        label=request.label,
        task={labels.NUMBER: NUMBER_TASK, labels.LIST: LIST_TASK}.get(collected.kind, LABEL_TASK),
        rows=collected.rows,
        failed=dict(collected.failed.most_common()),
        classes=judge.classes,
        positive=judge.positive,
        metric_names=judge.names,
        main=main,
        judged=judged,
        compared=_best_first([one for one in compared if one is not None], answers[0], main),
        left_out=tuple(_left_out(collected, answers, gains[len(members) :], judge)),
        disagreement=tuple(_disagreement(subjects, answers, judge, members)),
        costs=_costs(collected.costs.values()),
        by=by,
        slices=tuple(_slices(collected, answers[0], judge)) if by else (),
        notes=tuple(_notes(graph, subjects, judged, request)),
        settings={"seed": request.seed, "k": request.k, "quantile": request.quantile},
    )


def _all_judged(subjects: Sequence[Subject], answers: Sequence[Answers], judge: Judge) -> Iterator[Judged]:
    """Yields each subject's metrics; a combiner whose answer is the ensemble's own has them already."""
    first = _judged(subjects[0], answers[0], judge)
    yield first
    for subject, own in zip(subjects[1:], answers[1:], strict=False):
        is_same = subject.answer == subjects[0].answer and np.array_equal(own.there, answers[0].there)
        if is_same:
            yield dataclasses.replace(first, name=subject.name, role=subject.role)
        else:
            yield _judged(subject, own, judge)


def _judged(subject: Subject, answers: Answers, judge: Judge) -> Judged:
    columns = tuple(dict.fromkeys(subject.answer.columns))
    note = f"its scores are not probabilities ({answers.note}); judged by its labels" if answers.note else ""
    return Judged(
        subject.name,
        subject.role,
        columns,
        int(answers.there.sum()),
        judge.metrics(answers, answers.there),
        judge.curves(answers),
        note,
    )


def _gains(
    request: Request, pairs: Sequence[tuple[Answers, Answers]], judge: Judge
) -> list[dict[str, Difference]]:
    """Returns for each pair by how much the first is better than the second, by metric; empty without common rows.

    Pairs that have answered the same rows share the resamples, which take most of the time.
    """
    found: list[dict[str, Difference]] = [{} for _ in pairs]
    alike: dict[bytes, list[tuple[int, str, np.ndarray]]] = {}
    for at, (one, other) in enumerate(pairs):
        both = one.there & other.there
        if both.any():
            own, its = judge.losses(one, both), judge.losses(other, both)
            columns = [(at, name, its[name] - own[name]) for name in own if name in its]
            alike.setdefault(np.packbits(both).tobytes(), []).extend(columns)
    for columns in alike.values():
        resampled = bootstrap(np.stack([values for _, _, values in columns], axis=1), request.seed)
        for (at, name, _), difference in zip(columns, resampled, strict=True):
            found[at][name] = difference
    return found


def _compared(
    subject: Subject, whole: Answers, member: Answers, gains: Mapping[str, Difference], judge: Judge
) -> Compared | None:
    both = whole.there & member.there
    if not both.any():
        return None
    own, its = judge.losses(whole, both), judge.losses(member, both)
    test = mcnemar(own["accuracy"], its["accuracy"]) if "accuracy" in own else None
    return Compared(subject.name, int(both.sum()), gains, test)


def _best_first(compared: Sequence[Compared], whole: Answers, main: str) -> tuple[Compared, ...]:
    """Puts the best first: of those that answered the most rows the one that the ensemble gains least on."""
    most = max((one.rows for one in compared), default=0)

    def order(one: Compared) -> tuple[bool, bool, float]:
        gain = one.gains.get(main)
        return one.rows < most, gain is None, 0.0 if gain is None else gain.value

    return tuple(sorted(compared, key=order))


def _with_members(collected: Collected) -> list[tuple[int, int]]:
    """Returns the place of each answer without a member, with that of the same combiner's answer with all of them."""
    places = {one.name: at for at, one in enumerate(collected.subjects) if one.role != ENSEMBLE}
    count = len(collected.subjects)
    return [(count + at, places[one.subject.name]) for at, one in enumerate(collected.without)]


def _left_out(
    collected: Collected,
    answers: Sequence[Answers],
    gains: Sequence[Mapping[str, Difference]],
    judge: Judge,
) -> Iterator[LeftOut]:
    without_one = answers[len(collected.subjects) :]
    for one, found, gain in zip(collected.without, without_one, gains, strict=True):
        metrics = judge.metrics(found, found.there)
        yield LeftOut(one.subject.name, one.member, int(found.there.sum()), metrics, gain)


def _disagreement(
    subjects: Sequence[Subject], answers: Sequence[Answers], judge: Judge, members: Sequence[int]
) -> Iterator[tuple[str, str, float]]:
    for one, other in itertools.combinations((0, *members), 2):
        both = answers[one].there & answers[other].there
        if both.any():
            value = judge.difference(answers[one], answers[other], both)
            yield subjects[one].name, subjects[other].name, value


def _slices(collected: Collected, whole: Answers, judge: Judge) -> list[Slice]:
    values, places = collected.slices
    there = whole.there
    (name, losses) = next(
        (name, found) for name, found in reversed(judge.losses(whole, there).items())
    )  # accuracy where there are classes
    chances = worse_than_others(losses, places[there], len(values), are_counts=name in ("accuracy", "hit"))
    found = []
    for at, value in enumerate(values):
        which = there & (places == at)
        rows = int(which.sum())
        found.append(Slice(value, rows, judge.metrics(whole, which), chances[at], chances[at] < ALPHA))
    return sorted(found, key=lambda one: (not one.is_worse, -one.rows))


def _costs(costs: Sequence[NodeCost] | Any) -> tuple[Cost, ...]:
    every = list(costs)
    total = sum(one.nanoseconds for one in every) or 1
    return tuple(
        Cost(
            one.name,
            one.runs,
            one.when,
            one.asked,
            (1 - one.skipped / one.reached if one.reached else 0.0) if one.when else None,
            one.failed,
            one.calls,
            one.nanoseconds / 1e6,
            one.nanoseconds / 1e6 / one.asked if one.asked else 0.0,
            one.nanoseconds / total,
        )
        for one in every
    )


def _notes(
    graph: EnsembleGraph, subjects: Sequence[Subject], judged: Sequence[Judged], request: Request
) -> Iterator[str]:
    outputs = {name for name, _ in graph.outputs}
    answer = subjects[0].answer
    shown = next((name for name in answer.columns if name in outputs), answer.columns[0])
    if request.answer is None and len(outputs) > 1:
        yield f"the ensemble's answer is its output '{shown}'; name another one with --answer"
    for one in judged:
        if one.note:
            yield f"'{one.name}': {one.note}"
    told = {subject.node for subject in subjects}
    silent = [
        node.spec.name for node in graph.nodes if node.spec.kind == "model" and node.spec.name not in told
    ]
    if silent:
        yield f"not judged, for no answer of theirs can be compared with the label: {', '.join(silent)}"
