"""Output columns whose callers read them as other types than the columns have, such as Go's ``time.Time``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from beam_ensembles.columns.batch import ColumnBatch
from beam_ensembles.columns.convert import to_values
from beam_ensembles.columns.logical_types import writing
from beam_ensembles.columns.nulls import values_with_nulls
from beam_ensembles.errors import NodeError
from beam_ensembles.execution.loaded_stage import StageCode
from beam_ensembles.graph.kinds import validity
from beam_ensembles.types import Type

Row = Callable[[dict[str, Any]], Any]
"""Builds a row that is the value of a field."""


def written_outputs(code: StageCode, columns: ColumnBatch, row: Row | None) -> tuple[list[Any] | None, ...]:
    """Returns the values of each output column that crosses as another type, None for the others.

    A row with a value that the caller's type cannot hold leaves the batch with its reason.

    Args:
        code: What the stage does.
        columns: The columns when all nodes have run.
        row: Makes a row that is the value of a field; None leaves it a ``dict``.
    """
    if not any(code.written):
        return (None,) * len(code.outputs)
    found: list[list[Any] | None] = []
    for (name, type_), writer in zip(code.outputs, code.written, strict=True):
        values = None if writer is None else _written(columns, name, type_, writing(writer), row)
        faults = {at: value for at, value in enumerate(values or ()) if isinstance(value, NodeError)}
        if faults:
            columns.drop(_maker(code, name), faults)
            return written_outputs(code, columns, row)
        found.append(values)
    return tuple(found)


def _written(
    columns: ColumnBatch, name: str, type_: Type, write: Callable[[Any], Any], row: Row | None
) -> list[Any]:
    if not len(columns):
        return []
    valid = columns.columns.get(validity(name))
    values = values_with_nulls(columns.columns[name], valid, lambda column: to_values(column, type_, row))
    return [None if value is None else _one(value, name, write) for value in values]


def _one(value: Any, name: str, write: Callable[[Any], Any]) -> Any:
    try:
        return write(value)
    except ValueError as error:
        return NodeError("wrong_value", f"output '{name}' is {error}")


def _maker(code: StageCode, column: str) -> str:
    """Returns the name of the node that makes a column; empty where an earlier stage does."""
    return next((node.spec.name for node in code.nodes if column in node.outputs), "")
