"""Opens two versions of an ensemble, finds rows for both, and compares them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from beam_ensembles.cli.comparing_quality import QualityComparison
from beam_ensembles.cli.locking import loaded, lock_beside, parameters_of, read_lock
from beam_ensembles.cli.version_sides import Recorded, Running, Side, compared, slices_of
from beam_ensembles.errors import EnsembleError, InvalidRows, nearest
from beam_ensembles.evaluation.request import Request
from beam_ensembles.files.lock_names import golden_of, is_lock
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.local.row_files import NOT_ADDED, chunks_of, open_rows
from beam_ensembles.local.scoring import check_fields
from beam_ensembles.locks.behaviour import Comparison
from beam_ensembles.locks.differences import Limits, Report, differences
from beam_ensembles.tables.chunk import Chunk, Reader
from beam_ensembles.tables.formats import Columns, open_reader

_ROWS_AT_ONCE: Final = 1_024


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparing:
    """What to compare.

    Attributes:
        old: The old version: an ensemble file, a bundle or a lock.
        new: The new one.
        rows: The file of rows, or None for golden rows.
        by: The field whose values are slices, or None.
        label: The field of the known answers, or None.
        answer: The output to judge; None: the first that can be.
        positive: The positive class as text; None: the greater of two.
        limits: How much may differ.
        log_loss: By how much the log loss may grow, or None.
        parameters: Values of ``${name}`` in both.
        trust: Folders whose pickles may be loaded unpinned, beside the files' own.
    """

    old: str
    new: str
    rows: str | None = None
    by: str | None = None
    label: str | None = None
    answer: str | None = None
    positive: str | None = None
    limits: Limits = dataclasses.field(default_factory=Limits)
    log_loss: float | None = None
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict)
    trust: Sequence[str] = ()


Tell = Callable[[str], None]
"""Is told what is being done."""


def report_of(
    comparing: Comparing, tell: Tell = lambda _: None, opening: Callable[[str], None] = lambda _: None
) -> Report:
    """Compares two versions of an ensemble.

    Args:
        comparing: What to compare.
        tell: Is told what is being done.
        opening: Is told which version is opened, for messages on what is wrong with it.

    Raises:
        InvalidEnsemble: A file is not valid.
        EnsembleError: A model cannot be loaded, a lock is damaged, or a field or limit is wrong.
        OSError: A file cannot be read.
    """
    tell("loading the old version")
    opening(comparing.old)
    old = _side(comparing.old, comparing.new, comparing)
    tell("loading the new version")
    opening(comparing.new)
    new = _side(comparing.new, comparing.old, comparing)
    listed = tuple(differences(old.version, new.version))
    report = Report(old=comparing.old, new=comparing.new, found=listed, by=comparing.by or "")
    try:
        pairs = _Pairs.of(comparing, old, new)
    except InvalidRows as error:
        first = error.problems[0]
        why = f"the rows do not have what a version reads: {first.message}"
        return _judged(dataclasses.replace(report, not_compared=why), comparing)
    if pairs is None:
        why = "there are no rows: name some with --input, or lock the old version"
        return _judged(dataclasses.replace(report, not_compared=why), comparing)
    tell("comparing the answers")
    comparison = Comparison(compared(old, new))
    quality = _quality(comparing, old, new, pairs)
    for one, other in pairs.chunks():
        answers = old.answers(one), new.answers(other)
        slices = slices_of(other, comparing.by) if comparing.by is not None else []
        comparison.add(*answers, other.numbers, slices)
        if quality is not None:
            quality.add(other, *answers)
    found = dataclasses.replace(report, behaviour=comparison.found())
    if quality is not None:
        judged = quality.found()
        found = dataclasses.replace(found, quality=judged.metrics, better=judged.better, worse=judged.worse)
    return _judged(found, comparing)


def _side(path: str, other: str, comparing: Comparing) -> Side:
    if is_lock(path):
        return Recorded(path, read_lock(path))
    given = parameters_of(other if is_lock(other) else None, path, comparing.parameters)
    return Running(loaded(path, given, comparing.trust))


def _judged(report: Report, comparing: Comparing) -> Report:
    """Adds what exceeds the limits."""
    if not comparing.limits and comparing.log_loss is None:
        return report
    beyond = [one.text for one in report.found if one.breaks]
    if report.behaviour is None:
        beyond.append("the answers could not be compared")
    else:
        beyond += comparing.limits.beyond(report.behaviour)
    if comparing.log_loss is not None and report.behaviour is not None:
        before, after = report.quality.get("log_loss", (None, None))
        if before is None or after is None:
            text = "--max-log-loss needs probabilities, and the answers have none"
            raise EnsembleError(f"{text}; name an output that has some with --answer")
        if after - before > comparing.log_loss:
            beyond.append(f"the log loss grew by {after - before:.4g} (limit {comparing.log_loss:.4g})")
    return dataclasses.replace(report, beyond=tuple(beyond))


@dataclasses.dataclass(frozen=True, slots=True)
class _Pairs:
    """The rows for both versions: of two locks those of each, else the same for both.

    Attributes:
        old: The file of the old version's rows, with what reads it.
        new: That of the new version; None where it is the same.
    """

    old: tuple[str, Reader]
    new: tuple[str, Reader] | None = None

    @classmethod
    def of(cls, comparing: Comparing, old: Side, new: Side) -> _Pairs | None:
        """Finds the rows.

        Raises:
            InvalidRows: They lack something that a version reads.
            EnsembleError: A lock has no answers for them, or they lack a field that the call names.
        """
        sides = [side for side in (old, new) if isinstance(side, Running)]
        recorded = [side for side in (old, new) if isinstance(side, Recorded)]
        if comparing.rows is not None and recorded:
            text = f"'{recorded[0].name}' is a lock, whose answers are those of its golden rows"
            raise EnsembleError(f"{text}; leave out --input, or give the ensemble file itself")
        path = _rows_of(comparing, sides, recorded)
        if path is None:
            return None
        reader = _reader(path, [side.ensemble.graph for side in sides])
        for field in filter(None, (comparing.by, comparing.label)):
            if field not in reader.fields:
                raise EnsembleError(f"'{path}' has no field '{field}'{nearest(field, reader.fields)}")
        if len(recorded) < 2:
            return cls((path, reader))
        other = golden_of(recorded[1].name)
        return cls((path, reader), (other, _reader(other, [])))

    def chunks(self) -> Iterator[tuple[Chunk, Chunk]]:
        """Yields the rows of both.

        Raises:
            EnsembleError: A row cannot be read, there are none, or the rows of two locks are others.
        """
        count = 0
        for one, other in self._both():
            for fault in other.faults:
                text = f"row {fault.number:,} cannot be read: [{fault.error.code}] {fault.error.message}"
                raise EnsembleError(f"{text}; leave it out")
            count += len(other)
            yield one, other
        if not count:
            raise EnsembleError(f"'{self.old[0]}' has no rows")

    def _both(self) -> Iterable[tuple[Chunk, Chunk]]:
        path, reader = self.old
        if self.new is None:
            for chunk in chunks_of(reader, path, _ROWS_AT_ONCE):
                yield chunk, chunk
            return
        other, its = self.new
        ones = list(chunks_of(reader, path, _ROWS_AT_ONCE))
        others = list(chunks_of(its, other, _ROWS_AT_ONCE))
        shared = [name for name in reader.fields if name in its.fields and "." not in name]
        if [_values(chunk, shared) for chunk in ones] != [_values(chunk, shared) for chunk in others]:
            raise EnsembleError(
                f"the golden rows of '{path}' and '{other}' are not the same ones; give the ensemble file of one"
            )
        yield from zip(ones, others, strict=True)


def _values(chunk: Chunk, fields: Sequence[str]) -> list[object]:
    return [[row[name] for name in fields] for row in chunk.rows(range(len(chunk)))]


def _rows_of(comparing: Comparing, sides: Sequence[Running], recorded: Sequence[Recorded]) -> str | None:
    if comparing.rows is not None:
        return comparing.rows
    if recorded:
        return golden_of(recorded[0].name)
    for side in sides:
        lock = lock_beside(side.ensemble.path)
        if lock is not None:
            read_lock(lock)
            return golden_of(lock)
    return None


def _reader(path: str, graphs: Sequence[EnsembleGraph]) -> Reader:
    """Opens rows that several versions read, each of which checks the fields."""
    inputs = {name: type_ for graph in graphs for name, type_ in graph.columns_read}
    if not graphs:
        return open_reader(path, Columns({}, ()), path)
    reader = open_rows(path, graphs[-1], Columns(inputs, ()), prefix=NOT_ADDED)
    for graph in graphs[:-1]:
        check_fields(graph, reader.fields, NOT_ADDED)
    return reader


def _quality(comparing: Comparing, old: Side, new: Side, pairs: _Pairs) -> QualityComparison | None:
    if comparing.label is None:
        return None
    first = next(iter(pairs.chunks()))[1]
    return QualityComparison(
        old,
        new,
        first,
        Request(
            file=comparing.new,
            input=pairs.old[0],
            label=comparing.label,
            answer=comparing.answer,
            positive=comparing.positive,
        ),
    )
