"""``stack``: the feature row of a meta-model, as scikit-learn's StackingClassifier and StackingRegressor make it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from beam_ensembles.combiners.members import numbers_of
from beam_ensembles.combiners.options import check_members
from beam_ensembles.combiners.probabilities import check_values
from beam_ensembles.graph.class_meanings import UNKNOWN
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.types import Type, dtype_of, row_shape

PORT: Final = "features"
_IF_BINARY: Final = "if_binary"
_TODO: Final = "'drop: none' on the stack keeps both values"


class StackOptions(Options):
    """What a stack takes."""

    passthrough: list[Any] | None = option(
        None, "Columns to put behind the members, such as the members' own features."
    )
    drop: str = option(
        _IF_BINARY,
        "Whether the first of two probabilities is left out, as it follows from the other one.",
        choices=(_IF_BINARY, "none"),
    )


class StackKind(Kind[StackOptions]):
    """Puts the members' answers side by side, and the columns of ``passthrough`` behind them."""

    kind = "combine"
    name = "stack"
    summary = "The feature row of a meta-model: the answers of its members, side by side."
    takes = "The members: columns of numbers or tensors: the results of predict_proba, decision_function or predict."
    gives = "features: a tensor of all their numbers, in that order, then those of passthrough."
    options = StackOptions
    members_have_places = True
    gives_features = True

    def check(self, node: NodeView[StackOptions]) -> Mapping[str, Type | None]:
        """Checks that there are only numbers; the features are as many, of the dtype that holds them all."""
        check_members(node)
        features = _features(node)
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), features))

    def meanings(self, node: NodeView[StackOptions]) -> None:
        """Compares nothing. Members may know other classes: their scores are features, each by itself."""

    def load(self, node: CheckedNode[StackOptions]) -> Member:
        """Nothing is loaded: gives the function itself."""
        drops = tuple(_drops(node, at) for at in range(len(node.spec.columns)))
        return Stacked(tuple(zip(node.spec.columns, drops, strict=True)), node.outputs)


def _features(node: NodeView[StackOptions]) -> Type | None:
    """Returns the type of the feature row, where it is known; reports columns that are no numbers."""
    dtypes, width, is_known = [], 0, True
    for at, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        dtype = None if type_ is None else dtype_of(type_)
        if type_ is None or dtype is None:
            is_known = False
            if type_ is not None and node.spec.inputs is not None:
                text = f"'{column}' is {type_}; features are numbers, booleans, or tensors such as array<double>[2]"
                node.problem("type_mismatch", node.spec.inputs.path(at), text)
            continue
        shape = row_shape(type_)
        drops = _drops(node, at)
        dtypes.append(dtype)
        width += math.prod((*shape[:-1], shape[-1] - 1) if drops else shape)
    return numbers_of(np.result_type(*dtypes), (width,)) if is_known and dtypes else None


def _drops(node: NodeView[StackOptions] | CheckedNode[StackOptions], at: int) -> bool:
    """Returns whether a column's first probability is left out: it has two, of one or of several answers.

    Of two values that are known to be no probabilities both are kept.
    """
    inputs, column = node.spec.inputs, node.spec.columns[at]
    type_ = node.inputs.get(column)
    if inputs is None or type_ is None or node.options.drop == "none":
        return False
    dtype, shape = dtype_of(type_), row_shape(type_)
    if at >= len(inputs.columns) - inputs.passed or dtype is None or dtype.kind != "f":
        return False
    return shape[-1:] == (2,) and len(shape) <= 2 and not node.meanings.get(column, UNKNOWN).refused


@dataclasses.dataclass(frozen=True, slots=True)
class Stacked:
    """Puts numbers side by side in the order of ``transform`` of scikit-learn's stacking estimators.

    Attributes:
        columns: The members, then those passed through, each with whether the first of its last dimension is left out.
        outputs: The column to add, with its type.
    """

    columns: tuple[tuple[str, bool], ...]
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Make the feature row of each row.

        Raises:
            NodeError: ``not_probabilities``: two values of which one would be left out are not.
        """
        for name, drops in self.columns:
            if drops:
                check_values(columns[name].reshape(-1, 2), name, None, _TODO)
        parts = [columns[name][..., 1:] if drops else columns[name] for name, drops in self.columns]
        found = np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
        return {name: found.astype(dtype_of(type_), copy=False) for name, type_ in self.outputs.items()}
