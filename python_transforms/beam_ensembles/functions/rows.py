"""What functions give: columns as they are declared, and the rows that they have no answer for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from beam_ensembles.errors import NodeError, SomeFailed
from beam_ensembles.graph.kinds import Columns
from beam_ensembles.handlers.support.results import to_column
from beam_ensembles.types import Type


def of_each(compute: Callable[..., Any], *values: Iterable[Any]) -> tuple[list[Any], dict[int, NodeError]]:
    """Computes an answer for each row.

    Args:
        compute: Called with a row's values; raises ``NodeError`` where it has no answer for them.
        values: One a row, for each argument.

    Returns:
        The answers of the rows that have one, in order, and the errors of the others by their position.
    """
    found: list[Any] = []
    faults: dict[int, NodeError] = {}
    for at, arguments in enumerate(zip(*values, strict=True)):
        try:
            found.append(compute(*arguments))
        except NodeError as error:
            faults[at] = error
    return found, faults


def objects(values: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Creates a column of objects."""
    return np.fromiter(values, dtype=object, count=len(values))


def finished(
    found: Mapping[str, tuple[np.ndarray[Any, Any], Type]],
    declared: Mapping[str, Type],
    faults: Mapping[int, NodeError],
) -> Columns:
    """Returns a function's columns.

    Args:
        found: The columns of the rows that have an answer, each with its type, as the function makes them.
        declared: Their types as they must come out.
        faults: The errors of the other rows.

    Raises:
        SomeFailed: There are other rows.
        NodeError: ``bad_output`` where a declared narrower type cannot hold a value.
    """
    columns = {
        name: _as_declared(values, given, declared[name], name) for name, (values, given) in found.items()
    }
    if faults:
        raise SomeFailed(columns, faults)
    return columns


def _as_declared(
    values: np.ndarray[Any, Any], given: Type, declared: Type, name: str
) -> np.ndarray[Any, Any]:
    if given.required() == declared.required():
        return values
    return to_column(values, declared, len(values), name)
