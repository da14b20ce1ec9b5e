"""Lists of any length for models that take tensors: rows are given to the model by the lengths of their lists."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member
from beam_ensembles.graph.shared_options import is_per_row
from beam_ensembles.handlers.support.arguments import Values, leaf, shape_text
from beam_ensembles.handlers.support.beam_config import arguments_of
from beam_ensembles.handlers.support.nested_values import depth_of
from beam_ensembles.handlers.support.signatures import Signature
from beam_ensembles.types import NUMPY_DTYPES, Array

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class _Lists:
    """A column of lists.

    Attributes:
        name: Its name.
        dtype: What an array of its items is made of; objects for text.
        depth: How many dimensions the array of one row has.
        wanted: The shape of one row that the model takes, where it says so.
    """

    name: str
    dtype: np.dtype[Any]
    depth: int
    wanted: tuple[int | None, ...] | None

    def whole(self, values: Values) -> Values | None:
        """Returns the tensor of all rows, or None where they are not of one shape that the model takes."""
        try:
            found = np.array(values.tolist(), self.dtype)
        except ValueError:
            return None
        is_tensor = found.ndim == self.depth + 1
        return found if is_tensor and self._misfit(found.shape[1:]) is None else None

    def of_row(self, value: Any) -> Values:
        """Returns the array of one row.

        Raises:
            NodeError: ``wrong_value`` where it is none, ``wrong_length`` where the model takes others.
        """
        try:
            found = np.array(value, self.dtype)
        except ValueError:
            found = np.empty(0, self.dtype)
        if found.ndim != self.depth:
            if len(value) > 0:
                text = f"'{self.name}' holds lists of different lengths; a model takes lists of one length"
                raise NodeError("wrong_value", text)
            found = np.empty((0,) * self.depth, self.dtype)
        misfit = self._misfit(found.shape)
        if misfit is not None:
            raise NodeError("wrong_length", misfit)
        return found

    def _misfit(self, shape: Shape) -> str | None:
        if self.wanted is None or all(
            want in (None, have) for want, have in zip(self.wanted, shape, strict=True)
        ):
            return None
        if len(shape) == 1:
            return f"'{self.name}' holds {shape[0]} values, the model takes {self.wanted[0]}"
        wanted = shape_text((None, *self.wanted))
        return f"'{self.name}' is an array {shape_text((None, *shape))}, the model takes {wanted}"


def by_length(node: CheckedNode, member: Member, signature: Signature | None = None) -> Member:
    """Returns a member that also takes the node's columns of lists, for one that takes tensors in their place.

    Args:
        node: The node; with ``per_row`` its lists are batches, which its member takes as they are.
        member: The member that runs the node.
        signature: What the model takes, where it says so.

    Returns:
        A member that calls the other one once for each shape of the rows' lists; the member itself where there are no
        lists.
    """
    wanted = _wanted(node, signature) if signature is not None else {}
    lists = [
        _Lists(
            column, NUMPY_DTYPES.get(leaf(type_) or "", np.dtype(object)), depth_of(type_), wanted.get(column)
        )
        for column, type_ in node.inputs.items()
        if isinstance(type_, Array) and type_.shape is None
    ]
    return _ByLength(member, tuple(lists)) if lists and not is_per_row(node.options) else member


def _wanted(node: CheckedNode, signature: Signature) -> Mapping[str, tuple[int | None, ...]]:
    """Returns the shape of one row that a model takes of each column that is alone one of its inputs."""
    ports, columns = node.spec.inputs.ports if node.spec.inputs is not None else None, node.spec.columns
    given = {port.name: port for port in signature.inputs}
    if ports is None:
        extra = arguments_of(node.options)
        asked = [port.name for port in signature.inputs if port.name not in extra and not port.is_optional]
        ports = tuple(asked[:1])
    if len(ports) != len(columns):
        return {}
    pairs = [(given[name], column) for name, column in zip(ports, columns, strict=True) if name in given]
    return {
        column: port.dims[1:]
        for port, column in pairs
        if port.dims is not None and len(port.dims) == depth_of(node.inputs[column]) + 1
    }


@dataclasses.dataclass(frozen=True, slots=True)
class _ByLength:
    """Calls a member once for each shape of the rows' lists."""

    member: Member
    lists: tuple[_Lists, ...]

    def __call__(self, columns: Columns) -> Columns:
        """Runs the member; where rows differ, in as many calls as there are shapes.

        Raises:
            NodeError: What the member raises; ``SomeFailed`` for rows whose lists are none that the model takes.
        """
        whole = {one.name: one.whole(columns[one.name]) for one in self.lists}
        tensors = {name: values for name, values in whole.items() if values is not None}
        if len(tensors) == len(whole):
            return self.member({**columns, **tensors})
        return self._in_groups(columns)

    def _in_groups(self, columns: Columns) -> Columns:
        count = len(columns[self.lists[0].name])
        groups: dict[tuple[Shape, ...], list[int]] = {}
        arrays: dict[int, tuple[Values, ...]] = {}
        faults: dict[int, NodeError] = {}
        for at in range(count):
            try:
                arrays[at] = tuple(one.of_row(columns[one.name][at]) for one in self.lists)
            except NodeError as error:
                faults[at] = error
            else:
                groups.setdefault(tuple(array.shape for array in arrays[at]), []).append(at)
        answers = [self._run(columns, rows, arrays, faults) for rows in groups.values()]
        order = np.argsort([at for rows, _ in answers for at in rows], kind="stable")
        found = {
            name: np.concatenate([answer[name] for _, answer in answers])[order]
            for name in (answers[0][1] if answers else ())
        }
        if faults:
            raise SomeFailed(found, dict(sorted(faults.items())))
        return found

    def _run(
        self,
        columns: Columns,
        rows: list[int],
        arrays: Mapping[int, tuple[Values, ...]],
        faults: dict[int, NodeError],
    ) -> tuple[list[int], Columns]:
        """Runs the member on the rows of one shape; gives those that went well, and their columns."""
        given = {name: values[rows] for name, values in columns.items()}
        for index, one in enumerate(self.lists):
            given[one.name] = np.stack([arrays[at][index] for at in rows])
        try:
            return rows, self.member(given)
        except SomeFailed as error:
            faults.update({rows[at]: fault for at, fault in error.faults.items()})
            return [at for index, at in enumerate(rows) if index not in error.faults], error.columns
