"""Columns of a node -> the features of a model that may know their names, as those fitted on a DataFrame do."""

from __future__ import annotations

import dataclasses
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import Problem, listed, nearest
from beam_ensembles.files.ensemble_files import local_path
from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView
from beam_ensembles.handlers.support.arguments import (
    Argument,
    Values,
    list_argument,
    matrix,
    named_arguments,
)
from beam_ensembles.messages.printable import truncate
from beam_ensembles.types import BOOLEAN, NUMPY_DTYPES, Array, Scalar, Type, width_of

_LOGGER: Final = logging.getLogger(__name__)
_PUNCTUATION: Final = re.compile(r"[\W_]+")
_LONGEST: Final = 300
"""Characters of an example in a message."""


@dataclasses.dataclass(frozen=True, slots=True)
class Features:
    """What a model is given for its features.

    Attributes:
        columns: The node's columns in the order of the model's features; a tensor stands for several of them.
        names: The name of each feature; None where the model knows none.
        has_text: Whether one of them is text.
        objects: Columns that stay objects in a DataFrame, whatever pandas makes of objects by itself.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...] | None
    has_text: bool
    objects: frozenset[str] = frozenset()

    def read(self, columns: Columns, pandas: Any) -> Any:
        """Returns the features of a batch: a DataFrame where they have names, else an array.

        Args:
            columns: The batch.
            pandas: The module, or None to get an array in any case.

        Returns:
            A DataFrame of N rows; numbers as a matrix [N, F]; a single column of texts as it is, [N], where the model
            takes texts; else text, alone or beside other columns, as a matrix of objects [N, F].
        """
        if self.names is not None and pandas is not None:
            if len(self.columns) == 1 and not self.has_text:
                return pandas.DataFrame(matrix(columns, self.columns), columns=list(self.names), copy=True)
            series = [
                pandas.Series(values, dtype=object) if name in self.objects else values
                for name, values in self._single(columns)
            ]
            return pandas.DataFrame(dict(zip(self.names, series, strict=True)))
        if self.has_text and len(self.columns) > 1:
            return np.stack([values.astype(object) for _, values in self._single(columns)], axis=1)
        return matrix(columns, self.columns)

    def _single(self, columns: Columns) -> Iterator[tuple[str, Values]]:
        """Yields the column and the values of each feature, [N]."""
        for name in self.columns:
            values = columns[name]
            if values.ndim == 1:
                yield name, values
            else:
                yield from ((name, one) for one in values.reshape(len(values), -1).T)


def feature_arguments(node: NodeView, aside: Sequence[str] = (), whole: str = "") -> dict[str, Argument]:
    """Checks a node's columns as the features of a model and reports those that are none (``type_mismatch``).

    Args:
        node: The node.
        aside: Ports that are no features.
        whole: The port that takes a whole matrix, where there is one.

    Returns:
        An argument for a list of columns of numbers, or for each port or column; those that were reported are left out.
    """
    ports = node.spec.inputs.ports if node.spec.inputs is not None else None
    if ports is not None:
        found = named_arguments(node)
        for port, part in found.items():
            if port not in (*aside, whole) and part.shape not in ((), (1,)):
                text = f"the feature '{port}' is one value per row, the column is {part}; list it: inputs: [column]"
                node.problem("type_mismatch", part.place, text)
        return found
    types = [node.inputs.get(column) for column in node.spec.columns]
    if len(types) > 1 and any(type_ is not None and not _is_number(type_) for type_ in types):
        return _mixed(node)
    argument = list_argument(node)
    return {} if argument is None else {"": argument}


def _mixed(node: NodeView) -> dict[str, Argument]:
    """Checks columns of which some are text or truth values: each of them, a number or a tensor of numbers."""
    found = {}
    for index, column in enumerate(node.spec.columns):
        type_, place = node.inputs.get(column), f"inputs[{index}]"
        if type_ is None:
            continue
        width = width_of(type_)
        if width is None and not _is_text(type_):
            text = f"'{column}' is {type_}; a feature is a number, a truth value or a text"
            node.problem("type_mismatch", place, text)
            continue
        found[column] = Argument(place, "string" if width is None else "double", (width or 1,))
    return found


def _is_text(type_: Type) -> bool:
    return isinstance(type_, Scalar) and type_.name == "string"


def _is_number(type_: Type) -> bool:
    element = type_.element if isinstance(type_, Array) else type_
    return width_of(type_) is not None and element.required() != BOOLEAN


def column_of_each(types: Mapping[str, Type | None], columns: Sequence[str]) -> Iterator[str]:
    """Yields the column of each feature: a tensor's for as many as it holds."""
    for column in columns:
        type_ = types.get(column)
        yield from [column] * ((width_of(type_) if type_ is not None else None) or 1)


def count_of(types: Mapping[str, Type | None], columns: Sequence[str]) -> int | None:
    """Returns how many features columns hold: a text is one; None where one of them has any length or is not known."""
    widths = [_width(types.get(column)) for column in columns]
    return None if None in widths else sum(width for width in widths if width is not None)


def _width(type_: Type | None) -> int | None:
    if type_ is None:
        return None
    return 1 if _is_text(type_) else width_of(type_)


def match(
    node: NodeView | CheckedNode, names: Sequence[str] | None, aside: Sequence[str] = (), whole: str = ""
) -> tuple[Features, list[tuple[str, str]]]:
    """Finds the column of each of a model's features.

    Features that the node names (a mapping, or single columns listed of which one has the name of a feature) are taken
    by name; others in the order in which they stand.

    Args:
        node: The node.
        names: The names of the model's features, or None.
        aside: Ports that are no features.
        whole: The port that takes a whole matrix, whose name says nothing.

    Returns:
        The features, and what is wrong: the place below the node and a sentence.
    """
    inputs, types = node.spec.inputs, node.inputs
    columns = node.spec.columns
    ports = inputs.ports if inputs is not None and inputs.ports is not None else None
    pairs = [
        (label, column) for label, column in zip(ports or columns, columns, strict=True) if label not in aside
    ]
    given = dict(pairs)  # a column that is listed twice is two features where they go by position
    has_text = any(type_ is not None and _is_text(type_) for type_ in types.values())
    in_order = Features(
        tuple(column for _, column in pairs), None if names is None else tuple(names), has_text
    )
    is_single = all(_width(types.get(column)) == 1 for _, column in pairs)
    by_name = is_single and (ports is not None or not set(given).isdisjoint(names or ()))
    if names is None or not by_name or list(given) == [whole]:
        return in_order, list(_misplaced(node, names)) if names is not None and ports is None else []
    problems = list(_unmatched(node, given, names))
    if problems:
        return in_order, problems
    return Features(tuple(given[name] for name in names), tuple(names), has_text), []


def warn_of_order(node: NodeView, names: Sequence[str] | None) -> None:
    """Warns of columns that are taken by their position (``order_taken``)."""
    text = order_taken(node, names)
    if text is not None:
        node.warn(Problem(node.spec.path("inputs"), "features_by_position", text))


def log_order(node: CheckedNode, names: Sequence[str] | None, *, is_read: bool = True) -> None:
    """Logs the warning of ``warn_of_order`` when a model is loaded, unless its file was read when it was checked.

    Args:
        node: The node.
        names: The names of the loaded model's features.
        is_read: Whether the check reads them in a file of this machine.
    """
    text = order_taken(node, names)
    if text is not None and not (is_read and local_path(str(node.uri)) is not None):
        _LOGGER.warning("%s: %s", node.spec.path("inputs"), text)


def order_taken(node: NodeView | CheckedNode, names: Sequence[str] | None) -> str | None:
    """Returns a sentence with both orders where listed columns go by position and have other names than the features.

    None where the node names its features, where the model knows no names, and where those of each pair begin alike,
    but for capitals and punctuation (``petal_width`` for ``petal width (cm)``).
    """
    inputs, columns = node.spec.inputs, node.spec.columns
    if names is None or inputs is None or inputs.ports is not None or not len(columns) == len(names) > 1:
        return None
    are_single = all(_width(node.inputs.get(column)) == 1 for column in columns)
    pairs = list(zip(columns, names, strict=True))
    if not are_single or not set(columns).isdisjoint(names) or all(_is_like(*pair) for pair in pairs):
        return None
    by_plain = {_plain(name): name for name in names}
    meant = [(by_plain.get(_plain(column), name), column) for column, name in pairs]
    are_meant = len({name for name, _ in meant}) == len(names)
    example = ", ".join(
        f"{_quoted(name)}: {column}"
        for name, column in (meant if are_meant else zip(names, columns, strict=True))
    )
    return (
        f"no column has the name of a feature, so they are taken in their order: {listed(list(columns))} "
        f"for the model's {listed(list(names))}; name the features to be sure: "
        f"inputs: {{{truncate(example, _LONGEST)}}}"
    )


def nameless(node: NodeView | CheckedNode, features: Features) -> str | None:
    """Returns why a mapping says nothing to a model that does not know the names of its features; None for a list.

    Args:
        node: The node.
        features: What the model would be given.
    """
    inputs = node.spec.inputs
    if features.names is not None or len(features.columns) < 2 or inputs is None or inputs.ports is None:
        return None
    example = truncate(", ".join(features.columns), _LONGEST)
    return (
        "the model does not know the names of its features, so a mapping cannot say which column is which; "
        f"list the columns in the order of training: inputs: [{example}]{_cast(node, features)}"
    )


def _cast(node: NodeView | CheckedNode, features: Features) -> str:
    """Returns what to do about booleans, which stand in no list beside other columns."""
    name = next((one for one in features.columns if node.inputs.get(one) == BOOLEAN), None)
    return (
        ""
        if name is None
        else f", and make '{name}' a number before: CAST({name} AS INT) in a node of 'apply: sql'"
    )


def _quoted(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name, ensure_ascii=False)


def _is_like(column: str, name: str) -> bool:
    plain = _plain(column)
    return bool(plain) and _plain(name).startswith(plain)


def _plain(name: str) -> str:
    return _PUNCTUATION.sub("", name.casefold())


def _misplaced(node: NodeView | CheckedNode, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Finds columns beside tensors that have the name of another feature than that of their place."""
    at: int | None = 0
    for index, column in enumerate(node.spec.columns):
        width = _width(node.inputs.get(column))
        if at is None or width is None:
            return
        if width == 1 and column in names and at < len(names) and names[at] != column:
            text = (
                f"'{column}' stands where the model has the feature '{names[at]}' (its features: {listed(names)}); put "
                "the columns into that order"
            )
            yield f"inputs[{index}]", text
        at += width


def _unmatched(
    node: NodeView | CheckedNode, given: Mapping[str, str], names: Sequence[str]
) -> Iterator[tuple[str, str]]:
    inputs = node.spec.inputs
    labels = list((inputs.ports if inputs is not None else None) or node.spec.columns)
    for label in given:
        place = inputs.path(labels.index(label)) if inputs is not None else "inputs"
        if label not in names:
            text = (
                f"the model has no feature '{label}'{nearest(label, names)} (its features: {listed(names)})"
            )
            yield place, text
        elif labels.count(label) > 1:
            text = (
                f"'{label}' is listed {labels.count(label)} times, and the model has one feature of that name"
            )
            yield place, f"{text}; list it once"
    missing = [name for name in names if name not in given]
    if missing:
        yield "inputs", f"the model was trained on more features; add: {listed(missing)}"


def is_number(argument: Argument) -> bool:
    """Returns whether an argument holds numbers."""
    return argument.element in NUMPY_DTYPES
