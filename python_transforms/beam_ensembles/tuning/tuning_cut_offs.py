"""Tunes the cut-offs of an ensemble to targets that hold with a stated confidence."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np

from beam_ensembles.columns.expressions import Expressions as Computed
from beam_ensembles.errors import EnsembleError, listed
from beam_ensembles.evaluation.request import Progress
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.kinds import CheckedNode, validity
from beam_ensembles.local.scoring import columns_of, stage_of
from beam_ensembles.spec.sql_tokens import ExpressionError
from beam_ensembles.tuning.certifying import lower_bound, rows_needed, rows_without_a_miss
from beam_ensembles.tuning.choosing import (
    MOST_VALUES,
    PLANNING,
    Choice,
    Counts,
    Parts,
    Tried,
    candidates,
    choose,
    grid,
)
from beam_ensembles.tuning.cut_offs import CutOff, cut_offs, expressions_of
from beam_ensembles.tuning.grading import Graded, Grader
from beam_ensembles.tuning.labelled import Rows, parameters_of, score_rows, split
from beam_ensembles.tuning.recording import (
    FIXED,
    GATED,
    Recorder,
    Recording,
    for_recording,
    roles_of,
)
from beam_ensembles.tuning.replaying import Replay
from beam_ensembles.tuning.results import Measure, Number, Point, Reached, Tuned
from beam_ensembles.tuning.targets import ACCURACY, AGREEMENT, PRECISION, RECALL, Target


@dataclasses.dataclass(frozen=True, kw_only=True)
class CutOffRequest:
    """What to tune.

    Attributes:
        targets: What must be reached.
        confidence: How certain that must be.
        names: The cut-offs; empty: all that there are.
        flags: The condition on outputs under which a row counts as answered positive, or None.
        parameters: Values of ``${name}`` that the call gives.
        plans: Whether some rows plan the order in which values are tested, also where one is known to be cautious.
    """

    targets: Sequence[Target]
    confidence: float = 0.95
    names: Sequence[str] = ()
    flags: str | None = None
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict)
    plans: bool = False


def tune_cut_offs(graph: EnsembleGraph, request: CutOffRequest, rows: Rows, show: Progress) -> Tuned:
    """Returns the cheapest cut-offs that reach all targets with the confidence.

    Args:
        graph: The ensemble.
        request: What to tune.
        rows: The labelled rows.
        show: Is told how far it is.

    Raises:
        EnsembleError: There is nothing to tune, there are too few labels, or a target cannot be reached.
    """
    expressions = expressions_of(graph)
    given = parameters_of(graph, request.parameters)
    found = cut_offs(graph, expressions, given, request.names)
    roles = roles_of(graph.nodes, expressions, [one.name for one in found])
    recorder = Recorder(_kept(graph, roles))
    code = stage_of(graph, columns_of(graph))
    scored = score_rows(rows, graph, show, recorder.add, lambda _: for_recording(code, roles))
    recording = recorder.recording(scored.milliseconds)
    measures = {target.measure for target in request.targets}
    grader = Grader(
        graph,
        scored.collected,
        recording,
        positive=rows.positive,
        flags=request.flags,
        needs_positive=bool(measures & {RECALL, PRECISION}),
    )
    loaded = {node.spec.name: node for node in scored.stage.nodes}
    nodes = [_with_loaded(node, loaded[node.spec.name]) for node in graph.nodes]
    tuner = _Tuner(
        found, request, rows, grader, recording, Replay(nodes, roles, expressions, recording), given
    )
    tuner.gated = [node.spec.name for node in nodes if roles[node.spec.name] == GATED]
    tuner.fixed = sum(recording.milliseconds[name] for name, role in roles.items() if role == FIXED)
    axes = [grid(_compared(one, nodes, recording)[tuner.held], MOST_VALUES[len(found)]) for one in found]
    for one, axis in zip(found, axes, strict=True):
        if not axis:
            raise EnsembleError(f"what '{one.name}' is compared with has no value on the rows held out")
    choice = choose(
        candidates(axes), request.targets, request.confidence, tuner.grade, tuner.parts, plans=request.plans
    )
    return tuner.result(graph, choice, scored.collected.rows)


def _kept(graph: EnsembleGraph, roles: Mapping[str, str]) -> list[str]:
    """Returns the columns that replays read."""
    names = dict.fromkeys(name for name, _ in graph.outputs)
    for node in graph.nodes:
        role = roles[node.spec.name]
        if role == FIXED:
            continue
        names |= dict.fromkeys(node.condition)
        if role == GATED:
            names |= dict.fromkeys(node.outputs)
            names |= dict.fromkeys(name for name, type_ in node.inputs.items() if type_.nullable)
        else:
            names |= dict.fromkeys(node.inputs)
    return list(names)


def _with_loaded(node: CheckedNode, loaded: CheckedNode) -> CheckedNode:
    """Returns a node as the file has it, with what the loaded models say of the columns that it reads."""
    return dataclasses.replace(node, meanings=loaded.meanings)


def _compared(cut_off: CutOff, nodes: Sequence[CheckedNode], recording: Recording) -> np.ndarray:
    """Returns the values that a cut-off is compared with, ``[N]``, NaN where there is none."""
    by_name = {node.spec.name: node for node in nodes}
    for name, text in cut_off.compared:
        node = by_name[name]
        try:
            computed = Computed({"value": text}, {**node.inputs, **node.condition})
            columns = computed(recording.columns)
        except (ExpressionError, KeyError):
            continue
        values = columns["value"]
        if values.dtype.kind in "fiu":
            valid = columns.get(validity("value"))
            numbers = values.astype(np.float64)
            return numbers if valid is None else np.where(valid, numbers, np.nan)
    raise EnsembleError(f"'{cut_off.name}' cannot be tuned: what it is compared with is not a number")


class _Tuner:
    gated: Sequence[str] = ()
    fixed: float = 0.0

    def __init__(
        self,
        found: Sequence[CutOff],
        request: CutOffRequest,
        rows: Rows,
        grader: Grader,
        recording: Recording,
        replay: Replay,
        given: Mapping[str, str],
    ) -> None:
        self._cut_offs, self._request, self._rows, self._grader = found, request, rows, grader
        self._recording, self._replay, self._given = recording, replay, dict(given)
        self._members = {
            target.member: grader.member(target.member)
            for target in request.targets
            if target.measure == AGREEMENT
        }
        self._used, self.held = split(len(recording.rows), rows)
        self._kept: dict[tuple[float, ...], Graded] = {}

    def parts(self, planned: bool) -> Parts:
        """Returns the rows that plan, that certify, and that are held out."""
        if not planned:
            return self._used[:0], self._used, self.held
        order = np.random.default_rng(self._rows.seed + 1).permutation(self._used)
        count = round(len(order) * PLANNING)
        return np.sort(order[:count]), np.sort(order[count:]), self.held

    def grade(self, values: tuple[float, ...], parts: Parts) -> tuple[Counts, Counts, Counts]:
        """Returns what each part shows of a candidate."""
        graded = self._graded(values)
        plan, test, held = (self._counts(graded, part) for part in parts)
        return plan, test, held

    def _graded(self, values: tuple[float, ...]) -> Graded:
        if values not in self._kept:
            names = [one.name for one in self._cut_offs]
            parameters = {**self._given, **{name: repr(one) for name, one in zip(names, values, strict=True)}}
            self._kept[values] = self._grader.grade(self._replay(parameters))
        return self._kept[values]

    def _counts(self, graded: Graded, part: np.ndarray) -> Counts:
        shares = [self._grader.counts(one, graded, part, self._members) for one in self._request.targets]
        rows = max(len(part), 1)
        cost = self.fixed + sum(
            self._recording.milliseconds[name] * np.count_nonzero(which[part]) / rows
            for name, which in graded.ran.items()
        )
        return Counts(
            tuple(right for right, _ in shares),
            tuple(counted for _, counted in shares),
            float(cost),
            float(np.count_nonzero(graded.flagged[part]) / rows),
        )

    def result(self, graph: EnsembleGraph, choice: Choice, rows: int) -> Tuned:
        """Returns what was found.

        Raises:
            EnsembleError: No candidate is certain to reach the targets.
        """
        if choice.chosen is None:
            raise EnsembleError(self._unreached(choice))
        chosen = choice.chosen
        reached = tuple(
            Reached(target, right, counted, lower_bound(right, counted, self._request.confidence))
            for target, right, counted in zip(
                self._request.targets, chosen.test.right, chosen.test.counted, strict=True
            )
        )
        before = [one.value for one in self._cut_offs]
        old = None if None in before else self._graded(tuple(one for one in before if one is not None))
        numbers = tuple(
            Number(one.name, one.value, value)
            for one, value in zip(self._cut_offs, chosen.values, strict=True)
        )
        points = [
            Point(
                one.values,
                one.test.cost,
                one.test.right[0] / max(one.test.counted[0], 1),
                at < choice.certain,
            )
            for at, one in enumerate(choice.order)
        ]
        left_out = rows - len(self._recording.rows)
        notes = [f"{left_out:,} rows on which a node failed were left out"] if left_out else []
        if choice.planned:
            text = f"{len(self.parts(True)[0]):,} of the rows to tune on chose the order in which values are tested"
            notes.append(text)
        return Tuned(
            graph=graph,
            input=self._rows.input,
            label=self._rows.label,
            rows=rows,
            left_out=left_out,
            used=len(self._used),
            held=len(self.held),
            verdict=self._verdict(reached, chosen),
            numbers=numbers,
            measures=tuple(self._measures(old, self._graded(chosen.values))),
            changes={("parameters", one.name): repr(one.after) for one in numbers},
            reached=reached,
            points=tuple(points),
            confidence=self._request.confidence,
            seed=self._rows.seed,
            notes=tuple(notes),
        )

    def _verdict(self, reached: Sequence[Reached], chosen: Tried) -> str:
        values = listed(
            [f"{one.name} = {value:g}" for one, value in zip(self._cut_offs, chosen.values, strict=True)]
        )
        sure = f"{100 * self._request.confidence:g} %"
        said = " and ".join(f"{one.target}" for one in reached)
        return f"With {values}, {said} holds with {sure} confidence, at the least cost that is certain."

    def _measures(self, old: Graded | None, new: Graded) -> list[Measure]:
        """Returns what the rows held out show of the numbers before and after."""
        wanted = list(self._request.targets)
        shown = {target.measure for target in wanted}
        usual = [ACCURACY, *((RECALL, PRECISION) if self._grader.positive else ())]
        wanted += [Target(measure, 0.5) for measure in usual if measure not in shown]
        found = [
            Measure(target.name, None if old is None else self._share(target, old), self._share(target, new))
            for target in wanted
        ]
        for name in self.gated:
            now = self._ran(name, new)
            found.append(
                Measure(f"rows sent to '{name}'", None if old is None else self._ran(name, old), now)
            )
        old_cost = None if old is None else self._counts(old, self.held).cost
        found.append(
            Measure("milliseconds per row", old_cost, self._counts(new, self.held).cost, is_share=False)
        )
        return found

    def _share(self, target: Target, graded: Graded) -> float | None:
        right, counted = self._grader.counts(target, graded, self.held, self._members)
        return right / counted if counted else None

    def _ran(self, name: str, graded: Graded) -> float:
        which = graded.ran.get(name)
        return 0.0 if which is None else float(np.count_nonzero(which[self.held]) / len(self.held))

    def _unreached(self, choice: Choice) -> str:
        """Returns why no candidate is certain to reach the targets, and what would be needed."""
        confidence = self._request.confidence
        sure = f"{100 * confidence:g} % confidence"
        for at, target in enumerate(self._request.targets):
            most = max(one.test.counted[at] for one in choice.order)
            needed = rows_without_a_miss(target.least, confidence)
            if most < needed:
                rows = len(self._used) + len(self.held)
                total = math.ceil(rows * needed / most) if most else None
                kind = {RECALL: "rows of the positive class", PRECISION: "rows answered positive"}
                text = (
                    f"too few labels: '{target}' with {sure} needs {needed:,} {kind.get(target.measure, 'rows')} "
                    f"without a miss; the rows that certify it have {most:,}"
                )
                return text if total is None else f"{text}, so give about {total:,} rows or more in all"
        target, best = max(
            ((target, self._best(at, choice)) for at, target in enumerate(self._request.targets)),
            key=lambda one: one[0].least - one[1][1],
        )
        one, share, counted, right = best
        values = listed(
            [f"{cut.name} = {value:g}" for cut, value in zip(self._cut_offs, one.values, strict=True)]
        )
        certain = lower_bound(right, counted, confidence)
        text = (
            f"no value of {listed([cut.name for cut in self._cut_offs])} reaches '{target}' with {sure}; the best is "
            f"{share:.4f} on {counted:,} rows, of which {certain:.4f} is certain, with {values}"
        )
        if certain >= target.least and not choice.planned:
            return f"{text}; the values that are tested before it are not certain: plan another order with --plan"
        needed_rows = rows_needed(share, target.least, confidence)
        if needed_rows is None or needed_rows <= counted:
            return text
        total = math.ceil((len(self._used) + len(self.held)) * needed_rows / counted)
        return f"{text}; about {total:,} labelled rows could show it"

    def _best(self, at: int, choice: Choice) -> tuple[Tried, float, int, int]:
        """Returns the candidate with the greatest share of a target, that share, and the rows behind it."""
        least = max(1, rows_without_a_miss(self._request.targets[at].least, self._request.confidence))
        counted = [one for one in choice.order if one.test.counted[at] >= least]
        best = max(counted, key=lambda one: one.test.right[at] / one.test.counted[at])
        return best, best.test.right[at] / best.test.counted[at], best.test.counted[at], best.test.right[at]
