"""``first``: the first of its members that has a value."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from beam_ensembles.combiners.members import beside, check_exact, wider
from beam_ensembles.combiners.options import check_members
from beam_ensembles.graph.class_meanings import Meaning, check_positions, of_all_outputs
from beam_ensembles.graph.kinds import (
    CheckedNode,
    Columns,
    Kind,
    Member,
    NodeView,
    valid_rows,
    validity,
)
from beam_ensembles.graph.options import Options
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.types import Type, dtype_of, row_shape

PORT = "first"


class FirstKind(Kind):
    """Takes the first value that is there; where no member has one the answer is null."""

    kind = "combine"
    name = "first"
    summary = "The first of its members that is not null."
    takes = "The members: columns of one type, in the order in which they are asked."
    gives = "first: a value of that type; null only where all members may be null and are."
    takes_nulls = True
    options = Options

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks that all members are of one type; the answer is of it, nullable where all of them are."""
        check_members(node)
        found = _common_type(node)
        types = settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), found))
        known = [type_ for type_ in node.inputs.values() if type_ is not None]
        if all(type_.nullable for type_ in known):
            return {column: type_ and type_.optional() for column, type_ in types.items()}
        return {column: type_ and type_.required() for column, type_ in types.items()}

    def meanings(self, node: NodeView) -> Mapping[str, Meaning]:
        """Compares the order of the members' classes, where they are scores; the outputs have the same."""
        return of_all_outputs(node.spec, check_positions(node))

    def load(self, node: CheckedNode) -> Member:
        """Nothing is loaded: gives the function itself."""
        return First(node.spec.columns, node.outputs)


def _common_type(node: NodeView) -> Type | None:
    """Returns the members' type, of numbers the one that holds them all; reports those of another type."""
    found: Type | None = None
    for index, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        if type_ is None:
            continue
        type_ = type_.required()
        if found is None:
            found = type_
        elif _are_numbers(type_, found):
            found = wider(found, type_)
        elif type_ != found:
            text = f"'{column}' is {type_}, the members before it are {found}; all must be of one type"
            node.problem("type_mismatch", f"inputs[{index}]", text)
    return found


def _are_numbers(one: Type, other: Type) -> bool:
    """Returns whether two types hold numbers of one shape."""
    dtypes = dtype_of(one), dtype_of(other)
    return row_shape(one) == row_shape(other) and all(
        dtype is not None and dtype.kind in "fiu" for dtype in dtypes
    )


@dataclasses.dataclass(frozen=True, slots=True)
class First:
    """Takes the first value of each row, for all rows at once.

    Attributes:
        members: The members' columns.
        outputs: The column to add, with its type.
    """

    members: tuple[str, ...]
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Takes the values; a companion says on which rows there is none.

        Raises:
            NodeError: ``wrong_value``: a whole number would be rounded.
        """
        self._check_exact(columns)
        found, has_one = columns[self.members[0]], valid_rows(columns, self.members[0])
        for name in self.members[1:]:
            if has_one.all():
                break
            found = np.where(beside(has_one, found), found, columns[name])
            has_one = has_one | valid_rows(columns, name)
        made: dict[str, np.ndarray] = {}
        for column, type_ in self.outputs.items():
            made[column] = found.astype(dtype_of(type_) or object, copy=False)
            if not has_one.all():
                made[validity(column)] = has_one
        return made

    def _check_exact(self, columns: Columns) -> None:
        dtype = dtype_of(next(iter(self.outputs.values())))
        if dtype is None or dtype.kind != "f":
            return
        has_one = np.zeros(len(columns[self.members[0]]), np.bool_)
        for name in self.members:
            valid = valid_rows(columns, name)
            check_exact(columns[name], valid & ~has_one, dtype, name)
            has_one |= valid
