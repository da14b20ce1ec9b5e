"""Reads what to tune and hands it to the module that tunes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from beam_ensembles.evaluation.request import Progress
from beam_ensembles.evaluation.scikit_learn import metric_functions
from beam_ensembles.functions.calibrators import TEMPERATURE
from beam_ensembles.runtime.loading import graph_of_file, with_own_folder
from beam_ensembles.tuning.labelled import Rows
from beam_ensembles.tuning.results import Tuned
from beam_ensembles.tuning.tuning_calibration import tune_calibration, uncalibrated
from beam_ensembles.tuning.tuning_cut_offs import CutOffRequest, tune_cut_offs
from beam_ensembles.tuning.tuning_weights import tune_weights


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What to tune, and on which rows.

    Attributes:
        file: The ensemble file.
        rows: The labelled rows.
        cut_offs: The cut-offs to tune; None where something else is tuned.
        weights: The combiner whose weights are tuned, or None.
        calibrate: The node whose calibration is fitted, or None.
        method: How, one of ``functions.calibrators.METHODS``.
        parameters: Values of ``${name}`` in the ensemble file.
        trust: Folders whose pickles may be loaded unpinned, beside the ensemble file's own.
    """

    file: str
    rows: Rows
    cut_offs: CutOffRequest | None = None
    weights: str | None = None
    calibrate: str | None = None
    method: str = TEMPERATURE
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict)
    trust: Sequence[str] = ()


def tune(request: Request, show: Progress = lambda _, __, ___: None) -> Tuned:
    """Returns the numbers that were chosen.

    Args:
        request: What to tune.
        show: Is told how far it is.

    Raises:
        InvalidEnsemble: The ensemble file, or (``InvalidRows``) the file of rows as a whole is not valid.
        EnsembleError: There is nothing to tune, or nothing that can be reached.
        OSError: A file cannot be read.
    """
    metric_functions()
    show("checking the ensemble", None, 0)
    trust = with_own_folder(request.file, request.trust)
    if request.calibrate is not None:
        with uncalibrated(request.file, request.calibrate, request.parameters, trust) as plain:
            return tune_calibration(plain, request.calibrate, request.method, request.rows, show)
    graph = graph_of_file(request.file, parameters=request.parameters, trust=trust)
    if request.weights is not None:
        return tune_weights(graph, request.weights, request.rows, show)
    assert request.cut_offs is not None  # noqa: S101
    return tune_cut_offs(graph, request.cut_offs, request.rows, show)
