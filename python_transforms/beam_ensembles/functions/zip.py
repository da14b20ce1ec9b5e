"""``zip``: parallel lists of a row to one list of rows, such as the labels, boxes and scores of what was found."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

from beam_ensembles.columns.nested_rows import plain
from beam_ensembles.errors import NodeError
from beam_ensembles.functions.inputs import wrong_input
from beam_ensembles.functions.rows import finished, objects, of_each
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options
from beam_ensembles.graph.output_ports import check_ports, settle
from beam_ensembles.spec.language import NAME_RULE, is_name
from beam_ensembles.spec.model import NodeSpec
from beam_ensembles.types import Array, Row, Type

PORT: Final = "rows"


class ZipKind(Kind):
    """Puts the first items of a row's lists together, then the second ones, and so on."""

    kind = "apply"
    name = "zip"
    summary = "Makes one list of rows of a row's parallel lists."
    takes = "Lists or tensors of one length: a mapping from the fields' names to columns; listed columns name them."
    gives = "rows: array<row<...>>, a field per column in the order of 'inputs'."
    options = Options

    def check(self, node: NodeView) -> Mapping[str, Type | None]:
        """Checks that all columns are lists, and as long as each other where their types say how long they are."""
        if node.spec.inputs is None:
            text = "zip needs inputs: parallel lists by field, such as {label: names, score: scores}"
            node.problem("missing_key", "inputs", text)
        given = _check_lists(node)
        return settle(node, "type_mismatch", dict.fromkeys(check_ports(node, [PORT]), given))

    def load(self, node: CheckedNode) -> Member:
        """Nothing is loaded: gives the function itself."""
        items = [_item(node.inputs[column].required()) for column in node.spec.columns]
        fields = tuple(zip(_fields(node.spec), (item for item in items if item is not None), strict=True))
        return Zip(node.spec.columns, Row(fields), node.outputs)


def _check_lists(node: NodeView) -> Type | None:
    fields: list[tuple[str, Type]] = []
    known: tuple[str, int] | None = None
    for index, (field, column) in enumerate(zip(_fields(node.spec), node.spec.columns, strict=True)):
        type_ = node.inputs.get(column)
        item = _item(type_) if type_ is not None else None
        if type_ is not None and item is None:
            wrong_input(node, index, "lists or tensors, such as array<string> or array<float>[10]")
        length = type_.shape[0] if isinstance(type_, Array) and type_.shape is not None else None
        if length is not None and known is not None and length != known[1]:
            wrong_input(node, index, f"lists of one length, and '{known[0]}' holds {known[1]}")
            item = None
        if length is not None and known is None:
            known = column, length
        item = item if _check_name(node, index, field) else None
        if item is not None:
            fields.append((field, item))
    whole = fields and len(fields) == len(node.spec.columns)
    return Array(Row(tuple(fields))) if whole else None


def _check_name(node: NodeView, index: int, field: str) -> bool:
    """Returns whether a field may be called so, and reports it where it may not."""
    before = _fields(node.spec)[:index]
    text = f"{field!r} cannot be a field's name: {NAME_RULE}"
    if field in before:
        text = f"there are two fields '{field}'; name them: {{first: {field}, second: {field}}}"
    elif is_name(field):
        return True
    node.problem("bad_name", node.spec.inputs.path(index) if node.spec.inputs is not None else "inputs", text)
    return False


def _fields(spec: NodeSpec) -> Sequence[str]:
    """Returns the name of the field that each column becomes."""
    return spec.columns if spec.inputs is None or spec.inputs.ports is None else spec.inputs.ports


def _item(type_: Type) -> Type | None:
    """Returns the type of the items of a list, or along the first dimension of a tensor."""
    if not isinstance(type_, Array):
        return None
    if type_.shape is None or len(type_.shape) == 1:
        return type_.element
    return Array(type_.element, type_.shape[1:])


@dataclasses.dataclass(frozen=True, slots=True)
class Zip:
    """Zips lists to lists of rows; in a column a row is a ``dict``.

    Attributes:
        columns: The lists.
        row: The type of one of the rows.
        outputs: The type of each column that it adds.
    """

    columns: tuple[str, ...]
    row: Row
    outputs: Mapping[str, Type]

    def __call__(self, columns: Columns) -> Columns:
        """Zips every row's lists.

        Raises:
            SomeFailed: Some rows have lists of different lengths.
        """
        lists = [columns[name].tolist() for name in self.columns]
        found, faults = of_each(self._of_row, *lists)
        column = objects(found)
        return finished({name: (column, Array(self.row)) for name in self.outputs}, self.outputs, faults)

    def _of_row(self, *lists: Any) -> list[dict[str, Any]]:
        values = [plain(one) for one in lists]
        if len({len(one) for one in values}) > 1:
            lengths = ", ".join(
                f"'{name}' {len(one)}" for name, one in zip(self.columns, values, strict=True)
            )
            text = f"the lists are not of one length, so their items do not belong together: {lengths}"
            raise NodeError("wrong_length", text)
        names = [name for name, _ in self.row.fields]
        return [dict(zip(names, items, strict=True)) for items in zip(*values, strict=True)]
