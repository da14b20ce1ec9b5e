"""What ``lock``, ``check`` and ``diff`` share: an ensemble that is opened with its files, loaded, and its lock."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from beam_ensembles.bundles.file_names import is_bundle
from beam_ensembles.cli.terminable import uninterrupted
from beam_ensembles.cli.write_errors import naming
from beam_ensembles.errors import EnsembleError
from beam_ensembles.execution.loaded_stage import LoadedStage, StageCode
from beam_ensembles.files.lock_names import golden_of, lock_of
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.local.row_files import NOT_ADDED, chunks_of, open_rows
from beam_ensembles.local.scoring import columns_of, stage_of
from beam_ensembles.locks.digests import Digests, collecting, digests_of
from beam_ensembles.locks.golden_rows import sample
from beam_ensembles.locks.lock_text import BadLock, Lock, parse_lock
from beam_ensembles.locks.making import Made, make_lock
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.loading import checked_with_warnings, ensemble_of_file, with_own_folder
from beam_ensembles.spec.load import read_text
from beam_ensembles.tables.chunk import Chunk
from beam_ensembles.tables.formats import PARQUET, Columns
from beam_ensembles.tables.whole_file import settle, whole_file

ROWS_AT_ONCE: Final = 1_024
Tell = Callable[[str], None]
"""Is told what is being done."""


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded:
    """An ensemble that is checked and loaded.

    Attributes:
        name: The file or bundle, as the caller names it.
        path: The ensemble file on this machine; of a bundle that in its unpacked folder.
        graph: The checked ensemble.
        parameters: Values of ``${name}``.
        code: What the stage of all nodes does.
        stage: That stage, loaded.
        read: Reads the ensemble's files.
    """

    name: str
    path: str
    graph: EnsembleGraph
    parameters: Mapping[str, str]
    code: StageCode
    stage: LoadedStage
    read: Callable[[], Digests]


def loaded(file: str, parameters: Mapping[str, str], trust: Sequence[str]) -> Loaded:
    """Opens, checks and loads an ensemble.

    Args:
        file: The ensemble file or bundle.
        parameters: Values of ``${name}`` in it.
        trust: Folders whose pickles may be loaded unpinned, beside the file's own.

    Raises:
        InvalidEnsemble: The file is not valid.
        EnsembleError: A model cannot be loaded.
    """
    given = ensemble_of_file(file, parameters, with_own_folder(file, trust))
    files = collecting(given.files)
    graph = checked_with_warnings(given.text, files, given.parameters)
    code = stage_of(graph, columns_of(graph))
    stage = LoadedStage(code, this_machine())
    return Loaded(file, given.path, graph, given.parameters, code, stage, lambda: digests_of(graph, files))


def lock_beside(path: str) -> str | None:
    """Returns the path of an ensemble file's lock, where it has one."""
    found = lock_of(path)
    return found if os.path.isfile(found) else None


def read_lock(path: str) -> Lock:
    """Reads a lock and compares its golden rows with it.

    Raises:
        BadLock: It is not a lock, or its golden rows are missing or those of another lock.
    """
    lock, golden = parse_lock(read_text(path), path), golden_of(path)
    try:
        with open(golden, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadLock(f"the golden rows '{golden}' of the lock cannot be read: {error.strerror}") from error
    if digest != lock.golden.sha256:
        text = f"'{golden}' is not what the lock '{path}' was written with: its SHA-256 is another"
        raise BadLock(f"{text}; take both from one commit, or lock again")
    return lock


def parameters_of(lock: str | None, file: str, given: Mapping[str, str]) -> Mapping[str, str]:
    """Returns values of ``${name}``: those that a lock holds and the file names, and over them those of the call.

    Args:
        lock: The lock; None: that beside the file, where it has one.
        file: The ensemble file.
        given: The values of the call.

    Raises:
        BadLock: It is not a lock.
    """
    found = lock or lock_beside(file)
    if found is None or is_bundle(file):  # a bundle has its own
        return given
    text = read_text(file)
    locked = parse_lock(read_text(found), found).parameters
    return {**{name: value for name, value in locked.items() if f"${{{name}}}" in text}, **given}


def write_lock(ensemble: Loaded, rows: str, most: int, output: str, tell: Tell) -> Made:
    """Locks an ensemble: writes the lock and its golden rows, both or neither.

    Args:
        ensemble: The ensemble.
        rows: The file of rows to take golden ones from.
        most: How many golden rows to take.
        output: The lock's path.
        tell: Is told what is being done.

    Raises:
        InvalidRows: There is something wrong with the file of rows as a whole.
        EnsembleError: A row fails, or answers depend on the rows beside it.
        OSError: A file cannot be read or written.
    """
    tell("drawing golden rows")
    columns = Columns(dict(ensemble.graph.columns_read), ())
    reader = open_rows(rows, ensemble.graph, columns, output=PARQUET, prefix=NOT_ADDED)
    try:
        drawn = sample(chunks_of(reader, rows, ROWS_AT_ONCE), reader.schema, most)
        tell("scoring golden rows")
        made = make_lock(
            ensemble.graph, ensemble.code, ensemble.stage, drawn, ensemble.parameters, ensemble.read
        )
    except BadLock:
        raise
    except EnsembleError as error:
        raise EnsembleError(f"'{rows}' cannot be locked: {error}") from error
    with (
        contextlib.ExitStack() as at_the_end,
        naming(output),
        whole_file(output) as lock,
        naming(golden_of(output)),
        whole_file(golden_of(output)) as golden,
    ):
        lock.write(made.lock.to_text().encode())
        golden.write(made.golden)
        # The disk may be full: both files are on it before the first one takes its name.
        settle(golden)
        settle(lock)
        at_the_end.enter_context(uninterrupted())
    return made


def golden_chunks(graph: EnsembleGraph, golden: str) -> list[Chunk]:
    """Reads golden rows, or others, as an ensemble reads its rows.

    Raises:
        InvalidRows: There is something wrong with the file as a whole.
    """
    columns = Columns(dict(graph.columns_read), ())
    reader = open_rows(golden, graph, columns, prefix=NOT_ADDED)
    return list(chunks_of(reader, golden, ROWS_AT_ONCE))
