"""Compares an ensemble with its lock, or with answers that somebody else has computed."""

from __future__ import annotations

from typing import Final

from beam_ensembles.cli.locking import Loaded, golden_chunks, lock_beside, read_lock
from beam_ensembles.cli.version_sides import Recorded, Running, compared
from beam_ensembles.errors import EnsembleError, InvalidRows
from beam_ensembles.files.lock_names import golden_of
from beam_ensembles.local.row_files import NOT_ADDED, chunks_of, open_rows
from beam_ensembles.locks.answers import Answers, answers_of, recorded_answers
from beam_ensembles.locks.behaviour import Compared, Comparison
from beam_ensembles.locks.differences import Report, differences
from beam_ensembles.locks.lock_text import BadLock
from beam_ensembles.tables.chunk import Chunk
from beam_ensembles.tables.formats import CSV, Columns, suffix_of
from beam_ensembles.types import Type

_ROWS_AT_ONCE: Final = 1_024


def check_lock(ensemble: Loaded, path: str | None) -> Report:
    """Compares an ensemble with its lock.

    Args:
        ensemble: The ensemble, loaded.
        path: The lock; None: that beside the ensemble file.

    Raises:
        BadLock: There is no lock, it is damaged, or that of another ensemble.
    """
    found = path or lock_beside(ensemble.path)
    if found is None:
        text = f"'{ensemble.name}' has no lock"
        raise BadLock(f"{text}; write one with 'beam-ensembles lock {ensemble.name} --rows ROWS'")
    lock = read_lock(found)
    if lock.ensemble != ensemble.graph.spec.name:
        text = f"'{found}' is the lock of another ensemble, '{lock.ensemble}'"
        raise BadLock(f"{text}; '{ensemble.name}' is '{ensemble.graph.spec.name}'")
    old, new = Recorded(found, lock), Running(ensemble)
    listed = tuple(differences(old.version, new.version))
    try:
        chunks = golden_chunks(ensemble.graph, golden_of(found))
    except InvalidRows as error:
        why = f"the golden rows do not have what the ensemble reads now: {error.problems[0].message}"
        return Report(old=found, new=ensemble.name, found=listed, not_compared=why)
    comparison = Comparison(compared(old, new))
    for chunk in chunks:
        comparison.add(old.answers(chunk), new.answers(chunk), chunk.numbers)
    return Report(old=found, new=ensemble.name, found=listed, behaviour=comparison.found())


def check_expected(ensemble: Loaded, rows: str, absolute: float | None) -> Report:
    """Compares an ensemble with answers that stand in a file of rows beside what it reads.

    Args:
        ensemble: The ensemble, loaded.
        rows: The file.
        absolute: By how much numbers may differ; None: by 1e-6 of their size.

    Raises:
        InvalidRows: There is something wrong with the file as a whole.
        EnsembleError: It has no answers, no rows, or a row that cannot be read.
    """
    side = Running(ensemble)
    types: dict[str, Type] = {
        name: type_ for node in ensemble.stage.nodes for name, type_ in node.outputs.items()
    }
    known = {**dict(ensemble.graph.columns_read), **types}
    reader = open_rows(rows, ensemble.graph, Columns(known, ()), prefix=NOT_ADDED)
    expected = {name: (name, types[name]) for name in types if name in reader.fields}
    if not expected:
        known_outputs = ", ".join(name for name, _ in ensemble.graph.outputs)
        text = f"'{rows}' has no answers to compare with: none of its fields is a column of the ensemble"
        raise EnsembleError(f"{text} (its outputs: {known_outputs})")
    makers = {name: side.version.makers[name] for name in expected}
    outputs = [name for name, _ in ensemble.graph.outputs if name in makers]
    comparison = Comparison(
        Compared(
            makers=makers,
            outputs=outputs,
            nodes={},  # what they read is not among the answers: nothing says where a difference begins
            scores=side.version.scores(),
            absolute=absolute,
        )
    )
    count = 0
    for chunk in chunks_of(reader, rows, _ROWS_AT_ONCE):
        for fault in chunk.faults:
            text = (
                f"row {fault.number:,} of '{rows}' cannot be read: [{fault.error.code}] {fault.error.message}"
            )
            raise EnsembleError(text)
        count += len(chunk)
        comparison.add(
            _recorded(chunk, expected, is_text=suffix_of(rows) == CSV),
            answers_of(ensemble.code, ensemble.stage, chunk),
            chunk.numbers,
        )
    if not count:
        raise EnsembleError(f"'{rows}' has no rows")
    return Report(old=rows, new=ensemble.name, found=(), behaviour=comparison.found())


def _recorded(chunk: Chunk, expected: dict[str, tuple[str, Type]], *, is_text: bool) -> Answers:
    try:
        return recorded_answers(chunk, expected)
    except EnsembleError as error:
        hint = "; write the answers as Parquet, which keeps types" if is_text else ""
        raise EnsembleError(f"{error}{hint}") from error
