"""Evaluates an ensemble on labelled rows: reads them in parts, keeps what metrics need, compares."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.errors import EnsembleError, nearest
from beam_ensembles.evaluation import labels
from beam_ensembles.evaluation.answer_cache import AnswerCache
from beam_ensembles.evaluation.collecting import Collected, Without
from beam_ensembles.evaluation.findings import findings_of
from beam_ensembles.evaluation.labels import kinds_of
from beam_ensembles.evaluation.recombining import (
    Combiner,
    can_be_left_out,
    vote_classes,
    with_probabilities,
    without,
)
from beam_ensembles.evaluation.request import Progress, Request
from beam_ensembles.evaluation.results import Evaluation
from beam_ensembles.evaluation.scikit_learn import metric_functions
from beam_ensembles.evaluation.subjects import (
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
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.local.row_files import NOT_ADDED, chunks_of, open_rows
from beam_ensembles.local.scoring import columns_of, stage_of
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.loading import graph_of_file, with_own_folder
from beam_ensembles.tables.chunk import Chunk
from beam_ensembles.tables.formats import CSV, suffix_of
from beam_ensembles.tables.formats import Columns as TableColumns

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    LABEL_TASK: (labels.TRUTH, labels.WHOLE, labels.TEXT),
    NUMBER_TASK: (labels.NUMBER,),
    LIST_TASK: (labels.LIST,),
}


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
    cache = None if request.cache is None else AnswerCache(request.cache)
    stage = LoadedStage(code, this_machine(), load=load_member if cache is None else cache.load)
    collected = prepared(request, graph, code, stage, first)
    for chunk in itertools.chain([first], chunks):
        collected.add(chunk, stage)
        show("scoring", reader, collected.rows)
    if cache is not None:
        cache.add_spared(collected.costs)
    show("comparing", reader, collected.rows)
    return findings_of(request, graph, collected)


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
    """Returns which label is the first of a type that no label can have, or of another type than those before it."""
    before: list[Any] = []
    for number, value in zip(first.numbers, first.column(request.label), strict=True):
        if value is None:
            continue
        text = f"row {number:,}: the label '{request.label}' is {labels.described(value)}"
        if not kinds_of([value], are_cells=are_cells):
            return (
                f"{text} ({type(value).__name__}); labels are texts, numbers, booleans or lists of candidates"
            )
        if before and set(kinds_of([*before, value], are_cells=are_cells)) <= {labels.LIST}:
            return f"{text}, but those before it are {kinds_of(before, are_cells=are_cells)[0]}"
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
