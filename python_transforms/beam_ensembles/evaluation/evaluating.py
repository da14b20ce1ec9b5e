"""Evaluates an ensemble on labelled rows: reads them in parts, keeps what metrics need, compares."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import EnsembleError, nearest
from beam_ensembles.evaluation import labels
from beam_ensembles.evaluation.answer_values import Answers
from beam_ensembles.evaluation.collecting import Collected, NodeCost, Without
from beam_ensembles.evaluation.comparisons import (
    Difference,
    bootstrap,
    mcnemar,
    worse_than_others,
)
from beam_ensembles.evaluation.judging import Judge, judge_for
from beam_ensembles.evaluation.labels import kinds_of
from beam_ensembles.evaluation.metric_library import metric_functions
from beam_ensembles.evaluation.recombining import (
    Combiner,
    can_be_left_out,
    vote_classes,
    with_probabilities,
    without,
)
from beam_ensembles.evaluation.results import Compared, Cost, Evaluation, Judged, LeftOut, Slice
from beam_ensembles.evaluation.subjects import (
    ENSEMBLE,
    LABEL_TASK,
    LIST_TASK,
    NUMBER_TASK,
    Columns,
    Subject,
    ensemble_subject,
    member_subjects,
)
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.class_meanings import Meaning
from beam_ensembles.local.row_files import NOT_ADDED, chunks_of, open_rows
from beam_ensembles.local.scoring import columns_of, stage_of
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.loading import graph_of_file, with_own_folder
from beam_ensembles.tables.chunk import Chunk, Reader
from beam_ensembles.tables.formats import CSV, suffix_of
from beam_ensembles.tables.formats import Columns as TableColumns

ALPHA: Final = 0.05
"""Slices whose corrected p-value is below that are worse beyond chance."""
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    LABEL_TASK: (labels.TRUTH, labels.WHOLE, labels.TEXT),
    NUMBER_TASK: (labels.NUMBER,),
    LIST_TASK: (labels.LIST,),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What to evaluate.

    Attributes:
        file: The ensemble file.
        input: The file of labelled rows.
        label: The field of the known answers.
        task: ``labels``, ``numbers`` or ``lists``; None infers it from the types.
        answer: The output that is the ensemble's answer; None takes the first that can be.
        positive: The positive class as text; None: the greater of two.
        by: The field whose values are slices, or None.
        k: How many candidates of a ranked list count.
        quantile: The quantile of the pinball loss.
        seed: Of the resampling.
        parameters: Values of ``${name}`` in the ensemble file.
        trust: Folders whose pickles may be loaded unpinned, beside the ensemble file's own.
        batch_size: Rows at once, at most.
    """

    file: str
    input: str
    label: str
    task: str | None = None
    answer: str | None = None
    positive: str | None = None
    by: str | None = None
    k: int = 10
    quantile: float = 0.5
    seed: int = 0
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict)
    trust: Sequence[str] = ()
    batch_size: int = 1_024


Progress = Callable[[str, Reader | None, int], None]
"""Is told what is being done, of what, and how many rows are scored."""


def evaluate(request: Request, show: Progress = lambda _, __, ___: None) -> Evaluation:
    """Evaluates an ensemble, and its models and combiners, on labelled rows.

    Args:
        request: What to evaluate.
        show: Is told how far it is.

    Raises:
        InvalidEnsemble: The ensemble file, or (``InvalidRows``) the file of rows as a whole is not valid.
        EnsembleError: There is no such label, labels and answers do not go together, or a model cannot be loaded.
        OSError: A file cannot be read.
    """
    metric_functions()
    show("checking the ensemble", None, 0)
    trust = with_own_folder(request.file, request.trust)
    graph = graph_of_file(request.file, parameters=request.parameters, trust=trust, with_profile=False)
    reader = open_rows(request.input, graph, TableColumns(dict(graph.columns_read), ()), prefix=NOT_ADDED)
    chunks = chunks_of(reader, request.input, request.batch_size)
    first = next(chunks, None)
    if first is None:
        raise EnsembleError(f"'{request.input}' has no rows")
    for field in (request.label, *([request.by] if request.by else ())):
        if field not in reader.fields:
            raise EnsembleError(f"'{request.input}' has no field '{field}'{nearest(field, reader.fields)}")
    show("loading the models", None, 0)
    code = stage_of(graph, columns_of(graph))
    stage = LoadedStage(code, this_machine())
    collected = prepared(request, graph, code, stage, first)
    for chunk in itertools.chain([first], chunks):
        collected.add(chunk, stage)
        show("scoring", reader, collected.rows)
    show("comparing", reader, collected.rows)
    return _found(request, graph, collected)


def prepared(
    request: Request,
    graph: EnsembleGraph,
    code: StageCode,
    stage: LoadedStage,
    first: Chunk,
    *,
    leaves_out: bool = True,
) -> Collected:
    """Returns what labelled rows are added to; the labels of the first rows and the types of answers settle the task.

    Args:
        request: What to evaluate.
        graph: The ensemble.
        code: What its stage does.
        stage: The loaded stage.
        first: The first rows.
        leaves_out: Whether combiners are also judged without each of their members.

    Raises:
        EnsembleError: No output can be compared with the label.
    """
    meanings, nodes = stage.meanings, {node.spec.name: node for node in stage.nodes}
    are_cells = suffix_of(request.input) == CSV
    votes = {
        name: Combiner(with_probabilities(node))
        for name, node in nodes.items()
        if vote_classes(node) is not None
    }
    own = {name: vote_classes(nodes[name]) or () for name in votes}
    for kind in _possible_kinds(request, first, are_cells):
        columns = Columns(graph, meanings, kind)
        usable = {name: classes for name, classes in own.items() if _are_of(classes, kind)}
        whole = ensemble_subject(graph, columns, request.answer, usable)
        if whole is None:
            continue
        if request.task is None and not _is_plausible(whole, kind, request, first, are_cells):
            continue
        subjects = [whole, *member_subjects(graph, columns, usable)]
        left = [
            Without(one, columns.makers[member].spec.name if member in columns.makers else member, combiner)
            for one in subjects[1:]
            if leaves_out and can_be_left_out(nodes[one.node])
            for member in dict.fromkeys(nodes[one.node].spec.columns)
            if (combiner := without(nodes[one.node], member)) is not None
        ]
        return Collected(
            code,
            subjects,
            votes,
            left,
            label=request.label,
            kind=kind,
            are_cells=are_cells,
            known=_known_classes(whole, meanings),
            by=request.by,
        )
    outputs = ", ".join(f"{name}: {type_}" for name, type_ in graph.outputs)
    shown = labels.described(next((one for one in first.column(request.label) if one is not None), None))
    text = f"no output of the ensemble can be compared with the label '{request.label}' ({shown}, ...)"
    raise EnsembleError(f"{text}; its outputs: {outputs}; name the task with --task if it is another one")


def _possible_kinds(request: Request, first: Chunk, are_cells: bool) -> Iterator[str]:
    values = [one for one in first.column(request.label) if one is not None and one == one and one != ""]
    if not values:
        if len(first):
            raise EnsembleError(
                f"row {first.numbers[0]:,} has no label: '{request.label}' is null; leave out rows whose answer "
                "is not known"
            )
        raise EnsembleError(f"no row of '{request.input}' can be read: {first.faults[0].error.message}")
    found = kinds_of(values, are_cells=are_cells)
    if request.task is None:
        if not found or (found == [labels.LIST] and not all(isinstance(one, list | str) for one in values)):
            raise EnsembleError(_mixed(request, first, are_cells))
        if labels.NUMBER in found and labels.WHOLE in found and any(isinstance(one, float) for one in values):
            found = [kind for kind in found if kind != labels.WHOLE]  # 2.0 beside 1.0 is a number
        yield from found
        return
    wanted = [kind for kind in _KINDS[request.task] if kind in found]
    if request.task == LIST_TASK:
        wanted = [labels.LIST]
    if not wanted:
        text = f"the label '{request.label}' is {labels.described(values[0])}, which is none of the task"
        raise EnsembleError(f"{text} '{request.task}'")
    yield from wanted


def _mixed(request: Request, first: Chunk, are_cells: bool) -> str:
    """Returns which label is the first that is of another type than those before it."""
    before: list[Any] = []
    for number, value in zip(first.numbers, first.column(request.label), strict=True):
        if value is None:
            continue
        if before and set(kinds_of([*before, value], are_cells=are_cells)) <= {labels.LIST}:
            kind = kinds_of(before, are_cells=are_cells)[0]
            text = f"row {number:,}: the label '{request.label}' is {labels.described(value)}"
            return f"{text}, but those before it are {kind}"
        before = [*before[:1], value]
    return f"the label '{request.label}' is of a type that no answer can have"


def _is_plausible(subject: Subject, kind: str, request: Request, first: Chunk, are_cells: bool) -> bool:
    """Whether whole numbers are classes: a lone number of the ensemble is a probability only beside 0 and 1."""
    if kind not in (labels.WHOLE, labels.TRUTH) or subject.answer.positive is None:
        return True
    values = {
        labels.as_kind(one, kind, is_cell=are_cells)
        for one in first.column(request.label)
        if one is not None and one != ""
    }
    return values <= {0, 1}


def _are_of(classes: Sequence[Any], kind: str) -> bool:
    wanted = {labels.TEXT: str, labels.WHOLE: int, labels.TRUTH: bool}.get(kind)
    return wanted is not None and all(isinstance(one, wanted) for one in classes)


def _known_classes(subject: Subject, meanings: Mapping[str, Meaning]) -> Sequence[Any]:
    answer = subject.answer
    return answer.classes or answer.places


def _found(request: Request, graph: EnsembleGraph, collected: Collected) -> Evaluation:
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
