"""``labels``: names for indices."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.columns.nested_rows import plain
from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.functions.inputs import is_number, one_column, wrong_input
from beam_ensembles.functions.label_list import LabelsError, read_labels, type_of_labels
from beam_ensembles.functions.rows import finished, objects, of_each
from beam_ensembles.graph.class_meanings import (
    LABELS,
    PLACES,
    REORDERED,
    Agreed,
    Meaning,
    are_labels,
    shown,
)
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.handlers.support.model_file import PinOptions, check_file, verified
from beam_ensembles.types import INT64, STRING, Array, Type, dtype_of

PORT: Final = "labels"
FILE: Final = "file"


class _NameOptions(Options):
    labels: list[Any] | None = option(
        None, "The names: texts or whole numbers; needed where there is no 'file'."
    )
    file: str | None = option(
        None, "A file of the names: text with one a line, or a JSON list where it ends in .json."
    )


class LabelsOptions(PinOptions, _NameOptions):
    """Where the names are."""

    sha256: str | None = option(None, "SHA-256 of 'file', 64 hexadecimal digits; any other is refused.")


class LabelsKind(Kind[LabelsOptions]):
    """Replaces every index of a row by the label at that index."""

    kind = "apply"
    name = "labels"
    summary = "Returns the names of indices, from a list or a file."
    takes = "One column of indices counted from 0: a whole number per row, or lists and tensors of them."
    gives = "labels: a name for each index, in lists where the indices are in lists."
    options = LabelsOptions

    def check(self, node: NodeView[LabelsOptions]) -> Mapping[str, Type | None]:
        """Checks the indices and the names."""
        label = _check_labels(node)
        type_ = one_column(node, "indices", "index")
        given = _given(type_, label) if type_ is not None and label is not None else None
        if type_ is not None and not _are_indices(type_):
            wrong_input(node, 0, "whole numbers, such as int64 or array<int64>")
            given = None
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), given))

    def meanings(self, node: NodeView[LabelsOptions]) -> Mapping[str, Meaning]:
        """Compares the names with the classes of the model whose positions the indices are."""
        labels = node.options.labels
        if labels is None or not are_labels(labels) or not node.spec.columns:
            return {}
        wrong = _misplaced(labels, node.meanings.get(node.spec.columns[0]))
        if wrong is not None:
            node.problem("label_mismatch", "labels", wrong)
        return {output.column: Meaning(LABELS, tuple(labels)) for output in node.spec.outputs}

    def load(self, node: CheckedNode[LabelsOptions]) -> Member:
        """Reads the names.

        Raises:
            InvalidEnsemble: The file holds none, or is not the pinned one.
            EnsembleError: It cannot be fetched.
        """
        labels, column = _load(node), node.spec.columns[0]
        wrong = _misplaced(labels, node.meanings.get(column))
        if wrong is not None:
            raise InvalidEnsemble([Problem(node.spec.path(FILE), "label_mismatch", wrong)])
        type_ = node.inputs[column].required()
        return Labels(column, labels, type_, _given(type_, type_of_labels(labels)), node.outputs)


def _misplaced(labels: Sequence[Any], meaning: Meaning | None) -> str | None:
    """Returns what is wrong with names that are a model's classes in another order; other names may be translations."""
    if meaning is None or meaning.holds != PLACES or meaning.classes is None:
        return None
    if Agreed(labels, {}).relation(meaning) != REORDERED:
        return None
    return (
        f"the names are {shown(labels)}, but the indices are positions among {shown(meaning.classes)}, the model's "
        "classes; list them in that order"
    )


def _check_labels(node: NodeView[LabelsOptions]) -> Type | None:
    """Returns the type of the names, and reports what is wrong with them."""
    labels, file = node.options.labels, node.options.file
    if (labels is None) == (file is None):
        text = "give 'labels', the list of names, or 'file', a file of them"
        if labels is None:
            node.problem("missing_key", "labels", text)
        else:
            node.problem("bad_labels", FILE, f"there are two lists of names; {text}")
        return None
    if labels is None:
        return _check_names_of(node)
    try:
        return type_of_labels(labels)
    except LabelsError as error:
        node.problem("bad_labels", "labels", str(error))
        return None


def _check_names_of(node: NodeView[LabelsOptions]) -> Type:
    """Checks the file of names; one of another place is read by the workers only."""
    place = check_file(node, key=FILE, named=node.options.file)
    path = local_path(place) if place is not None else None
    if path is None:
        return STRING
    if node.options.sha256 is None and not node.files.is_trusted(path):
        text = (
            f"rows would get the contents of '{path}', which is neither pinned nor trusted; "
            "pin it with 'sha256: <its digest>' on the node, or trust its folder (start with --trust FOLDER)"
        )
        node.problem("untrusted_file", FILE, text)
        return STRING
    try:
        read_labels(path)
    except (LabelsError, OSError) as error:
        node.problem("bad_labels", FILE, f"'{path}': {error}")
    return STRING


def _load(node: CheckedNode[LabelsOptions]) -> list[Any]:
    if node.options.labels is not None:
        return list(node.options.labels)
    with verified(node) as path:
        try:
            return list(read_labels(path))
        except LabelsError as error:
            problem = Problem(node.spec.path(FILE), "bad_labels", f"'{node.uri}': {error}")
            raise InvalidEnsemble([problem]) from error


def _are_indices(type_: Type) -> bool:
    if isinstance(type_, Array) and not type_.element.nullable:
        return _are_indices(type_.element)
    return is_number(type_, "iu")


def _given(indices: Type, label: Type) -> Type:
    """Returns the type of the names for indices of a type: in the place of each number its name."""
    if not isinstance(indices, Array):
        return label
    inner = _given(indices.element, label)
    if indices.shape is None:
        return Array(inner)
    if dtype_of(label) is not None:
        return Array(inner, indices.shape)
    for _ in indices.shape:
        inner = Array(inner)
    return inner


@dataclasses.dataclass(frozen=True, slots=True)
class Labels:
    """Looks names up.

    Attributes:
        column: The indices.
        labels: The name of each index.
        type: The indices' type.
        given: The type of what comes out.
        outputs: The type of each column that it adds.
    """

    column: str
    labels: Sequence[Any]
    type: Type
    given: Type
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Looks up the names of every row's indices.

        Raises:
            SomeFailed: Some rows have an index without a name.
        """
        values = columns[self.column]
        if values.dtype == object:
            found, faults = of_each(self._of_list, values)
            column = objects(found)
        else:
            column, faults = self._of_numbers(values)
        return finished(dict.fromkeys(self.outputs, (column, self.given)), self.outputs, faults)

    def _of_numbers(self, values: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], dict[int, NodeError]]:
        flat = values.reshape(len(values), -1)
        outside = (flat < 0) | (flat >= len(self.labels))
        bad = outside.any(axis=1)
        faults = {int(at): self._error(int(flat[at][outside[at]][0])) for at in np.flatnonzero(bad)}
        table = np.array(
            self.labels, dtype=dtype_of(INT64) if type_of_labels(self.labels) == INT64 else object
        )
        names = table[values[~bad] if faults else values]
        return (names if names.ndim == 1 or names.dtype != object else objects(names.tolist())), faults

    def _of_list(self, row: Any) -> list[Any]:
        found = []
        for item in plain(row):
            if isinstance(item, list | tuple | np.ndarray):
                found.append(self._of_list(item))
            elif 0 <= item < len(self.labels):
                found.append(self.labels[item])
            else:
                raise self._error(item)
        return found

    def _error(self, index: int) -> NodeError:
        text = f"'{self.column}' holds the index {index}; there are names for 0 to {len(self.labels) - 1}"
        return NodeError("unknown_label", text)
