"""``calibrate``: probabilities to those that come true as often as they say."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem, SomeFailed
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.functions.calibrators import Calibration, CalibrationError, read_calibration
from beam_ensembles.functions.inputs import is_number, one_column, wrong_input
from beam_ensembles.graph.class_meanings import Meaning, of_all_outputs
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.handlers.support.model_file import PinOptions, check_file, verified
from beam_ensembles.types import DOUBLE, Array, Type, dtype_of, row_shape

PORT: Final = "probabilities"
FILE: Final = "file"
_APART: Final = 1e-3


class _FileOptions(Options):
    file: str = option(
        "", "The JSON file of the calibration, which beam-ensembles tune writes.", required=True
    )


class CalibrateOptions(PinOptions, _FileOptions):
    """Where the calibration is."""

    sha256: str | None = option(None, "SHA-256 of 'file', 64 hexadecimal digits; any other is refused.")


class CalibrateKind(Kind[CalibrateOptions]):
    """Calibrates probabilities by temperature, by Platt's method, or by isotonic regression."""

    kind = "apply"
    name = "calibrate"
    summary = "Turns probabilities into those that come true as often as they say."
    takes = "One column: a probability per class, or one of the second of two classes."
    gives = "probabilities: the same ones, calibrated, as doubles."
    options = CalibrateOptions

    def check(self, node: NodeView[CalibrateOptions]) -> Mapping[str, Type | None]:
        """Checks that there are probabilities, and the file."""
        type_ = one_column(node, "probabilities", "proba")
        given: Type | None = None
        if type_ is not None:
            given = _given(type_)
            if given is None:
                wrong_input(node, 0, "probabilities, such as array<double>[3], or one as a double")
        found = _check_calibration(node)
        if found is not None and given is not None and found.classes not in (0, _classes(given)):
            text = f"the calibration is of {found.classes} classes, but '{node.spec.columns[0]}' has {_classes(given)}"
            node.problem("bad_calibration", FILE, text)
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), given))

    def meanings(self, node: NodeView) -> Mapping[str, Meaning]:
        """The probabilities are about the same classes."""
        found = node.meanings.get(node.spec.columns[0]) if node.spec.columns else None
        return of_all_outputs(node.spec, found)

    def load(self, node: CheckedNode[CalibrateOptions]) -> Member:
        """Reads the file.

        Raises:
            InvalidEnsemble: It holds no calibration, one of other classes, or is not the pinned one.
            EnsembleError: It cannot be fetched.
        """
        column = node.spec.columns[0]
        with verified(node) as path:
            try:
                found = read_calibration(path)
            except CalibrationError as error:
                raise _bad(node, f"'{node.uri}': {error}") from error
        if found.classes not in (0, _classes(node.inputs[column].required())):
            raise _bad(node, f"the calibration is of {found.classes} classes, and '{column}' has others")
        return Calibrated(column, found, node.outputs)


def _bad(node: CheckedNode, text: str) -> InvalidEnsemble:
    return InvalidEnsemble([Problem(node.spec.path(FILE), "bad_calibration", text)])


def _given(type_: Type) -> Type | None:
    """Returns the type of calibrated probabilities; None where a type holds none."""
    if is_number(type_, "f"):
        return DOUBLE
    shape = row_shape(type_)
    dtype = dtype_of(type_)
    is_whole = isinstance(type_, Array) and len(shape) == 1 and shape[0] > 1
    return Array(DOUBLE, shape) if is_whole and dtype is not None and dtype.kind == "f" else None


def _classes(type_: Type) -> int:
    shape = row_shape(type_)
    return shape[0] if shape else 2


def _check_calibration(node: NodeView[CalibrateOptions]) -> Calibration | None:
    """Returns the calibration of a file of this machine; one of another place is read by the workers only."""
    place = check_file(node, key=FILE, named=node.options.file)
    path = local_path(place) if place is not None else None
    if path is None or (node.options.sha256 is None and not node.files.is_trusted(path)):
        return None
    try:
        return read_calibration(path)
    except (CalibrationError, OSError) as error:
        node.problem("bad_calibration", FILE, f"'{path}': {error}")
    return None


@dataclasses.dataclass(frozen=True, slots=True)
class Calibrated:
    """Calibrates rows.

    Attributes:
        column: The probabilities.
        calibration: The calibration.
        outputs: The type of each column that it adds.
    """

    column: str
    calibration: Calibration
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Calibrates every row's probabilities.

        Raises:
            SomeFailed: Some rows hold a value that is not a probability.
        """
        values = np.asarray(columns[self.column], np.float64)
        flat = values.reshape(len(values), -1)
        with np.errstate(invalid="ignore"):
            good = ((flat >= -_APART) & (flat <= 1 + _APART)).all(axis=1)
        kept = np.clip(flat[good], 0, 1)
        is_one = values.ndim == 1
        found: np.ndarray[Any, Any] = self.calibration(
            np.concatenate([1 - kept, kept], axis=1) if is_one else kept
        )
        if is_one:
            found = found[:, 1]
        given = {name: found.astype(dtype_of(type_)) for name, type_ in self.outputs.items()}
        if not good.all():
            text = f"'{self.column}' holds a value that is not a probability from 0 to 1"
            error = NodeError("not_probabilities", text)
            raise SomeFailed(given, {int(at): error for at in np.flatnonzero(~good)})
        return given
