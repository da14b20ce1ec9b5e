"""An ensemble in a program or a notebook: ``Ensemble("fraud.yaml").predict(frame)``."""

from __future__ import annotations

import contextlib
import dataclasses
import html
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from beam_ensembles.bundles.opened import OpenedBundle
from beam_ensembles.columns.batch import RowFailure
from beam_ensembles.drawing import picture, svg
from beam_ensembles.errors import EnsembleError
from beam_ensembles.execution.growing_stage import Stage, WatchedStage, load_stage
from beam_ensembles.execution.loaded_stage import LoadedStage, bundle_error
from beam_ensembles.files.temporary import temporary_folder
from beam_ensembles.graph import plan
from beam_ensembles.local.explaining import explain_row
from beam_ensembles.local.explanation import Explanation
from beam_ensembles.local.frames import NOT_SCORED, Frame, Rows, frame_of, one_row
from beam_ensembles.local.from_sklearn import save, spec_of
from beam_ensembles.local.row_files import NOT_ADDED
from beam_ensembles.local.scoring import check_fields, columns_of, stage_of
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.runtime.loading import checked_with_warnings, ensemble_of_file, files_below
from beam_ensembles.runtime.row_source import score
from beam_ensembles.spec.yaml_text import yaml_of
from beam_ensembles.tables.arrow import array_of_values

_ROWS_AT_ONCE: Final = 16_384
_ERRORS: Final = ("raise", "split")


class Ensemble:
    """An ensemble on this machine, as ``beam-ensembles run`` runs it.

    It is checked when it is made, and its models are loaded once, for the first rows. Threads may share it:

        fraud = Ensemble("fraud.yaml")
        scored = fraud.predict(frame)
        scored, failed = fraud.predict(frame, errors="split")

    Args:
        file: The ensemble file, or a bundle.
        parameters: Values of ``${name}`` in the file.
        trust: Folders whose pickles may be loaded without a ``sha256``; the file's own folder where not given.
        prefix: Put before the name of every added column.

    Raises:
        InvalidEnsemble: The file is wrong; everything that is wrong is reported at once.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        parameters: Mapping[str, str] | None = None,
        trust: Sequence[str] | None = None,
        prefix: str = "",
    ) -> None:
        self._open(ensemble_of_file(file, parameters, trust), prefix)

    @classmethod
    def from_spec(
        cls,
        spec: Mapping[str, Any],
        *,
        base: str | os.PathLike[str] = ".",
        parameters: Mapping[str, str] | None = None,
        trust: Sequence[str] | None = None,
        prefix: str = "",
    ) -> Ensemble:
        """Returns the ensemble of what a file would hold, as plain data.

        Args:
            spec: Mappings, lists, texts, numbers and truth values, with the keys of an ensemble file.
            base: The folder that relative URIs in it are relative to; trusted where ``trust`` is not given.
            parameters: Values of ``${name}`` in it.
            trust: Folders whose pickles may be loaded without a ``sha256``.
            prefix: Put before the name of every added column.

        Raises:
            InvalidEnsemble: It is wrong; everything that is wrong is reported at once.
            TypeError: It is not a mapping.
        """
        given: object = spec
        if not isinstance(given, Mapping):
            text = f"spec is a mapping with the keys of an ensemble file; found: {type(given).__name__}"
            raise TypeError(f"{text}; for a file call Ensemble(file)")
        made = cls.__new__(cls)
        files = files_below(os.path.abspath(base), trust)
        made._open(OpenedBundle(yaml_of(dict(given)), files, parameters or {}), prefix)
        return made

    @classmethod
    def from_sklearn(
        cls,
        model: Any,
        folder: str | os.PathLike[str],
        *,
        name: str = "ensemble",
        inputs: Mapping[str, str] | None = None,
    ) -> Ensemble:
        """Writes a fitted voting or stacking estimator of scikit-learn as an ensemble file, and returns its ensemble.

        The file is ``NAME.yaml``, its members are ``MEMBER.joblib`` beside it. The ensemble adds ``label`` and, where
        the estimator has them, ``probabilities``, or ``prediction`` for a regressor: the estimator's own answers.

        Args:
            model: A ``VotingClassifier``, ``VotingRegressor``, ``StackingClassifier`` or ``StackingRegressor``.
            folder: Where to write; created where it does not exist.
            name: The ensemble's name.
            inputs: The types of the columns that it reads, by name, in the order of training. By default a ``double``
                for each column of the DataFrame that the estimator was fitted on, or, for one that was fitted on an
                array, one tensor ``features``.

        Raises:
            EnsembleError: The estimator is another one or not fitted, or one of the files exists already.
            InvalidEnsemble: An ensemble cannot have these columns or labels. Nothing is written.
            ValueError: The name is not one of a file.
        """
        if not name or os.path.basename(name) != name:
            raise ValueError(f"name is {name!r}; it is also the name of the file")
        spec, members = spec_of(model, name, inputs)
        place, file = Path(folder), f"{name}.yaml"
        if taken := [one for one in (file, *members) if (place / one).exists()]:
            raise EnsembleError(f"'{place / taken[0]}' exists already; choose another folder, or remove it")
        with _made_folder(place), temporary_folder(".from-sklearn-", str(place)) as made:
            save(members, Path(made))
            (Path(made) / file).write_text(yaml_of(spec), encoding="utf-8")
            cls(Path(made) / file)
            for one in (*members, file):
                os.replace(Path(made) / one, place / one)
        return cls(place / file)

    def _open(self, given: OpenedBundle, prefix: str) -> None:
        self._text = given.text
        self._graph = checked_with_warnings(given.text, given.files, given.parameters)
        self._columns, self._prefix = columns_of(self._graph, prefix), prefix
        self._code = stage_of(self._graph, self._columns)
        self._lock, self._stage = threading.Lock(), None

    _stage: Stage | None

    def to_yaml(self) -> str:
        """Returns the text of its file: the one that it was read from, or the one of ``from_spec``."""
        return self._text

    @property
    def name(self) -> str:
        """The ensemble's name."""
        return self._graph.spec.name

    @property
    def inputs(self) -> dict[str, str]:
        """The types of the columns that it reads, by name."""
        return {name: str(type_) for name, type_ in self._columns.inputs.items()}

    @property
    def outputs(self) -> dict[str, str]:
        """The types of the columns that it adds, by name."""
        return {name: str(type_) for name, type_ in self._columns.added}

    def predict(self, rows: Any, *, errors: Literal["raise", "split"] = "raise") -> Any:
        """Scores rows and returns them with the answers added, as the same kind of rows.

        Args:
            rows: A DataFrame of pandas or polars, an Arrow table, or a list of mappings.
            errors: ``raise`` fails at the first row that cannot be scored; ``split`` returns two parts.

        Returns:
            The rows with a column for each of ``outputs``, in their order; a DataFrame of pandas keeps its index. With
            ``split`` a pair: the scored rows, and the others with columns ``error_node``, ``error_code`` and
            ``error_msg``.

        Raises:
            InvalidRows: A column is missing, has another type, or the name of a column that is added.
            RowFailed: A row cannot be scored, with ``raise``.
            EnsembleError: A model cannot be loaded.
            TypeError: The rows are of another kind.
            ValueError: ``errors`` is something else, or the rows have a column of a name that ``split`` adds.
        """
        if errors not in _ERRORS:
            raise ValueError(f"errors is {errors!r}; allowed: 'raise', 'split'")
        frame = self._frame(rows)
        if errors == "split" and (taken := frame.fields.keys() & set(NOT_SCORED)):
            raise ValueError(f"the rows have a column '{min(taken)}' already, which 'split' adds; rename it")
        if frame.fields or not isinstance(frame, Rows):  # an empty list says of no field that it lacks it
            check_fields(self._graph, frame.fields, self._prefix)
        found = self._scored(frame, stops=errors == "raise")
        types = [type_ for _, type_ in self._columns.added]
        added = [
            (name, array_of_values(values, type_))
            for name, values, type_ in zip(self._columns.added_names, found.added, types, strict=True)
        ]
        scored = frame.extended(np.array(found.rows, np.int64), added)
        if errors == "raise":
            return scored
        failed = sorted(found.failures, key=lambda failure: failure.index)
        why = [(one.node, one.error.code, one.error.message) for one in failed]
        said = [pa.array([row[at] for row in why], pa.string()) for at in range(len(NOT_SCORED))]
        at = np.array([one.index for one in failed], np.int64)
        return scored, frame.extended(at, list(zip(NOT_SCORED, said, strict=True)))

    def explain(self, row: Any) -> Explanation:
        """Scores one row and returns what each node did with it: a text in a terminal, a picture in a notebook.

        Args:
            row: A mapping, a Series such as ``frame.iloc[0]``, or one row as ``predict`` takes them.

        Returns:
            What every node read, answered, skipped or failed on. A row that cannot be scored is explained too.

        Raises:
            InvalidRows: A column is missing, or has another type.
            EnsembleError: A model cannot be loaded.
            TypeError: The row is of another kind.
            ValueError: There are several rows, or none.
        """
        frame = self._frame(row, lambda one: one_row(one, self._columns.inputs))
        check_fields(self._graph, frame.fields, NOT_ADDED)
        (chunk,) = frame.chunks(1)
        stage = self._loaded()
        if isinstance(stage, WatchedStage):
            stage = stage.stage
        if not isinstance(stage, LoadedStage):  # one in several processes does not tell what its nodes do
            stage = LoadedStage(self._code, this_machine())
        return explain_row(self._graph, self._code, stage, chunk)

    def close(self) -> None:
        """Drops the models; ``predict`` loads them again."""
        with self._lock:
            self._stage = None

    def __enter__(self) -> Ensemble:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ensemble {self.name}: {_listed(self.inputs)} -> {_listed(self.outputs)}>"

    def _repr_html_(self) -> str:
        """Returns its picture, for notebooks; what it reads and adds where that would be too large."""
        found = picture(self._graph, plan(self._graph))
        return svg(found) if found.fits_svg else html.escape(repr(self))

    def _frame(self, rows: Any, read: Callable[[Any], Frame] = frame_of) -> Frame:
        try:
            return read(rows)
        except pa.ArrowException as error:
            raise EnsembleError(f"the rows cannot be read: {text_of(error)}") from error

    def _loaded(self) -> Stage:
        with self._lock:
            if self._stage is None:
                self._stage = load_stage(self._code, this_machine())
            return self._stage

    def _scored(self, frame: Frame, *, stops: bool) -> _Found:
        found = _Found([], tuple([] for _ in self._columns.added), [])
        stage = self._loaded()
        for chunk in frame.chunks(_ROWS_AT_ONCE):
            scored = score(self._code, stage, chunk)
            numbers = chunk.numbers
            found.rows += [numbers[at] - 1 for at in scored.rows.tolist()]
            for values, more in zip(found.added, scored.added, strict=True):
                values += more
            found.failures += [
                dataclasses.replace(failure, index=numbers[failure.index] - 1) for failure in scored.failures
            ]
            found.failures += [RowFailure(fault.number - 1, "", fault.error) for fault in chunk.faults]
            if stops and found.failures:
                first = min(found.failures, key=lambda failure: failure.index)
                failed = bundle_error(self.name, first)
                failed.advice = "to get such rows separately: predict(rows, errors='split')"
                raise failed
        return found


@dataclasses.dataclass(slots=True)
class _Found:
    """What became of rows: places and answers of those that were scored, and the failures of the others."""

    rows: list[int]
    added: tuple[list[Any], ...]
    failures: list[RowFailure]


@contextlib.contextmanager
def _made_folder(place: Path) -> Iterator[None]:
    """Creates a folder where there is none; where nothing is put into it, it is removed again."""
    new = [one for one in (place, *place.parents) if not one.exists()]
    place.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # it holds something
            for one in new:
                one.rmdir()


def _listed(types: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {type_}" for name, type_ in types.items())
