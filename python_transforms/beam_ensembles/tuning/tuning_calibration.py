"""Fits the calibration of an ``apply: calibrate`` node, whose file need not be there yet."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping

import numpy as np

from beam_ensembles.errors import EnsembleError, nearest
from beam_ensembles.evaluation.collecting import Collected
from beam_ensembles.evaluation.comparisons import bootstrap
from beam_ensembles.evaluation.label_metrics import LabelRows, label_metrics
from beam_ensembles.evaluation.labels import LIST, NUMBER, TRUTH, as_kind, listed_classes, positive_class
from beam_ensembles.evaluation.request import Progress
from beam_ensembles.execution.node_records import NodeRecorder
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.functions.calibrators import TEMPERATURE, Calibration
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.class_meanings import UNKNOWN
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.runtime.loading import checked_with_warnings, ensemble_of_file
from beam_ensembles.spec.document import read_document
from beam_ensembles.tuning.fitting_calibrations import fitted
from beam_ensembles.tuning.labelled import Rows, folded, score_rows
from beam_ensembles.tuning.results import Measure, Number, Tuned
from beam_ensembles.tuning.writing import Place, with_values
from beam_ensembles.types import row_shape


@contextlib.contextmanager
def uncalibrated(
    file: str, name: str, parameters: Mapping[str, str], trust: tuple[str, ...]
) -> Iterator[EnsembleGraph]:
    """Returns an ensemble in which a node calibrates nothing, whether or not its file is there.

    Args:
        file: The ensemble file.
        name: The node.
        parameters: Values of ``${name}`` in the file.
        trust: Folders whose pickles may be loaded unpinned.

    Raises:
        InvalidEnsemble: The ensemble is wrong.
        EnsembleError: There is no such node.
    """
    given = ensemble_of_file(file, parameters, trust)
    data = read_document(given.text).data
    nodes = data.get("nodes") if isinstance(data, dict) else None
    node = nodes.get(name) if isinstance(nodes, dict) else None
    if isinstance(nodes, dict) and node is None:
        raise EnsembleError(f"the file has no node '{name}'{nearest(name, nodes)}")
    if not isinstance(node, dict) or node.get("apply") != "calibrate":
        raise EnsembleError(f"'{name}' is not an 'apply: calibrate', so there is nothing to calibrate")
    if not isinstance(node.get("file"), str) or local_path(node["file"]) is None:
        raise EnsembleError(f"'{name}' needs 'file: calibration.json', a file of this machine to write to")
    with tempfile.TemporaryDirectory(prefix="beam-ensembles-") as folder:
        path = os.path.join(folder, "calibration.json")
        content = Calibration(TEMPERATURE).text()
        with open(path, "wb") as made:
            made.write(content)
        changes: dict[Place, str] = {
            ("nodes", name, "file"): f'"{path}"',
            ("nodes", name, "sha256"): f'"{hashlib.sha256(content).hexdigest()}"',
        }
        graph = checked_with_warnings(with_values(given.text, changes), given.files, given.parameters)
        yield dataclasses.replace(graph, spec=dataclasses.replace(graph.spec, text=given.text))


def tune_calibration(graph: EnsembleGraph, name: str, method: str, rows: Rows, show: Progress) -> Tuned:
    """Returns the calibration of a node's probabilities.

    Args:
        graph: The ensemble, in which the node calibrates nothing.
        name: The node.
        method: One of ``calibrators.METHODS``.
        rows: The labelled rows.
        show: Is told how far it is.

    Raises:
        EnsembleError: The label does not go with the probabilities, or a class has no row.
    """
    (column,) = next(node.spec.columns for node in graph.nodes if node.spec.name == name)
    given: list[np.ndarray] = []
    places: list[np.ndarray] = []
    count = 0

    def keep(recorder: NodeRecorder, length: int) -> None:
        nonlocal count
        for record in recorder.of(name):
            there = record.went_well()
            given.append(np.asarray(record.read[column][there], np.float64))
            places.append(record.rows[there] + count)
        count += length

    scored = score_rows(rows, graph, show, keep)
    where = np.concatenate([np.zeros(0, np.int64), *places])
    if not len(where):
        raise EnsembleError(f"no row has probabilities in '{column}', so there is nothing to calibrate")
    shares = np.concatenate(given)
    is_one = shares.ndim == 1
    if is_one:
        shares = np.stack([1 - shares, shares], axis=1)
    loaded = next(node for node in scored.stage.nodes if node.spec.name == name)
    true = _true(loaded, column, scored.collected, rows)[where]
    parts = folded(len(where), rows)
    fits = [(held, fitted(shares[used], true[used], method)) for used, held in parts]
    used = np.arange(len(where)) if rows.folds else parts[0][0]
    found = fitted(shares, true, method) if rows.folds else fits[0][1]
    held = np.concatenate([held for held, _ in fits])
    fair = np.concatenate([fit(shares[held]) for held, fit in fits])
    before, after = _metrics(true[held], shares[held]), _metrics(true[held], fair)
    old, new = (_surprise(true[held], one) for one in (shares[held], fair))
    (gain,) = bootstrap((old - new)[:, None], rows.seed)
    beyond = "" if gain.low > 0 else "; that is not beyond chance"
    content = found.text()
    uri = str(read_document(graph.spec.text).data["nodes"][name]["file"])
    left_out = scored.collected.rows - len(where)
    return Tuned(
        graph=graph,
        input=rows.input,
        label=rows.label,
        rows=scored.collected.rows,
        left_out=left_out,
        used=len(used),
        held=len(held),
        folds=rows.folds,
        verdict=(
            f"The log loss of '{column}' goes from {old.mean():.4f} to {new.mean():.4f} on the rows held out: gain "
            f"{gain.value:+.4f}, 95 % interval {gain.low:+.4f} to {gain.high:+.4f}{beyond}."
        ),
        numbers=tuple(_numbers(found)),
        measures=tuple(
            Measure(shown, before[key], after[key], is_share=False)
            for key, shown in (
                ("log_loss", "log loss"),
                ("brier", "Brier score"),
                ("ece", "calibration error"),
            )
        ),
        changes={("nodes", name, "sha256"): f'"{hashlib.sha256(content).hexdigest()}"'},
        files={uri: content},
        seed=rows.seed,
        notes=(f"{left_out:,} rows without probabilities were left out",) if left_out else (),
    )


def _numbers(found: Calibration) -> Iterator[Number]:
    if found.method == TEMPERATURE:
        yield Number("temperature", None, found.temperature)
    for at, (a, b) in enumerate(zip(found.a, found.b, strict=True)):
        yield Number(f"slope {at + 1}", None, a)
        yield Number(f"intercept {at + 1}", None, b)
    for at, steps in enumerate(found.x):
        yield Number(f"steps of {at + 1}", None, len(steps))


def _true(node: CheckedNode, column: str, collected: Collected, rows: Rows) -> np.ndarray:
    """Returns the place of each row's class among the probabilities, ``[N]``."""
    if collected.kind in (NUMBER, LIST):
        raise EnsembleError("probabilities are calibrated where the label is a class")
    codes, seen = np.asarray(collected.labels), collected.codes.classes
    shape = row_shape(node.inputs[column].required())
    if not shape:
        if len(seen) != 2:
            text = (
                f"'{column}' is one probability, which tells two classes apart, but the label has {len(seen)}"
            )
            raise EnsembleError(f"{text}: {listed_classes(seen)}")
        positive = positive_class(seen, collected.kind, rows.positive)
        return np.asarray(codes == seen.index(positive)).astype(np.int64)
    classes = node.meanings.get(column, UNKNOWN).classes
    if classes is None:
        if isinstance(seen[0], str):
            text = f"the classes of '{column}' are not known"
            raise EnsembleError(
                f"{text}; write 'labels' with them, in their order, on the model that makes it"
            )
        classes = tuple(range(shape[0]))
    known = [bool(one) if collected.kind == TRUTH and one in (0, 1) else one for one in classes]
    try:
        order = {as_kind(one, collected.kind, is_cell=False): at for at, one in enumerate(known)}
        return np.asarray(np.array([order[one] for one in seen])[codes])
    except (ValueError, KeyError):
        text = (
            f"the label has the classes {listed_classes(seen)}, but '{column}' has {listed_classes(classes)}"
        )
        raise EnsembleError(text) from None


def _rows(true: np.ndarray, shares: np.ndarray) -> LabelRows:
    positive = 1 if shares.shape[1] == 2 else None
    return LabelRows(true, shares.argmax(axis=1), shares, shares.shape[1], positive)


def _surprise(true: np.ndarray, shares: np.ndarray) -> np.ndarray:
    return _rows(true, shares).surprise()


def _metrics(true: np.ndarray, shares: np.ndarray) -> dict[str, float | None]:
    return label_metrics(_rows(true, shares))
