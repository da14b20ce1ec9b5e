"""The rows of a database's table, by key."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import sqlalchemy as sa

from beam_ensembles.errors import NodeError
from beam_ensembles.functions.lookup.engine import Connections
from beam_ensembles.functions.lookup.failures import failures
from beam_ensembles.functions.lookup.values import Convert, kind_of
from beam_ensembles.types import Type

Key = tuple[Any, ...]
Record = tuple[Any, ...]
"""The values of a row, in the order of the node's outputs; None is null."""

_MOST_PARAMETERS: Final = 1_000
"""In one query; Oracle takes no more in a list, SQL Server 2,100 in all."""


@dataclasses.dataclass(frozen=True, slots=True)
class Value:
    """One column that is looked up.

    Attributes:
        output: The column that it becomes.
        name: Its name in the table.
        type: The declared type.
        convert: Makes a value of that type.
    """

    output: str
    name: str
    type: Type
    convert: Convert


@dataclasses.dataclass(frozen=True, slots=True)
class KeyPart:
    """One column of a key.

    Attributes:
        compared: Makes of a column's value what the database compares with; ``ValueError``: it can hold none such.
        held: Makes of what the database gives the same.
    """

    compared: Callable[[Any], Any]
    held: Callable[[Any], Any]


class Table:
    """A table that fits a node.

    Args:
        database: The connections.
        select: The query by the parameter ``keys``.
        values: The columns that are looked up.
        name: The table's name, for messages.
        parts: The parts of a key.
    """

    def __init__(
        self,
        database: Connections,
        select: sa.Select[Any],
        values: Sequence[Value],
        name: str,
        parts: Sequence[KeyPart],
    ) -> None:
        self._database, self._select, self._values, self._name = database, select, values, name
        self._parts = parts

    def rows(self, keys: Iterable[Key]) -> dict[Key, Record | NodeError | None]:
        """Returns the row of each key: its values, None where there is none, an error where it cannot be given.

        Raises:
            NodeError: The database refuses a query, or does not answer (``Unreachable``).
        """
        compared = {key: self._compared(key) for key in keys}
        wanted = [key for key in dict.fromkeys(compared.values()) if key is not None]
        size = max(1, _MOST_PARAMETERS // len(self._parts))
        held: dict[Key, Record | NodeError] = {}
        for start in range(0, len(wanted), size):
            held |= self._held(wanted[start : start + size])
        return {key: None if own is None else held.get(own) for key, own in compared.items()}

    def _compared(self, key: Key) -> Key | None:
        """Returns a key as the database holds it; None where it can hold no such key."""
        try:
            return tuple(part.compared(value) for part, value in zip(self._parts, key, strict=True))
        except ValueError:
            return None

    def _held(self, keys: Sequence[Key]) -> dict[Key, Record | NodeError]:
        """Asks for some rows, in one query."""
        width = len(self._parts)
        rows = self._asked([key[0] for key in keys] if width == 1 else list(keys), len(keys) + 1)
        if (
            len(rows) > len(keys) > 1
        ):  # there are more, and some keys' may not be among these: halves are asked for
            raise self._not_unique()
        found: dict[Key, Record | NodeError] = {}
        for row in rows:
            key = tuple(part.held(value) for part, value in zip(self._parts, row, strict=False))
            found[key] = self._not_unique() if key in found else self._record(row[width:])
        return found

    def _asked(self, keys: list[Any], most: int) -> Sequence[Any]:
        """Returns the rows of some keys, no more than ``most``, whatever the database sends."""
        with failures(self._database), self._database.engine.connect() as connection:
            return connection.execute(self._select.limit(most), {"keys": keys}).fetchmany(most)

    def _record(self, row: Sequence[Any]) -> Record | NodeError:
        record = []
        for value, given in zip(self._values, row, strict=True):
            if given is None and not value.type.nullable:
                text = f"'{value.name}' is null in this row of {self._name}"
                return NodeError("null_value", f"{text}; declare '{value.output}' as '{value.type}?'")
            try:
                record.append(None if given is None else value.convert(given))
            except ValueError:
                text = (
                    f"'{value.output}' is declared {value.type}, which '{value.name}' of {self._name} is not in this "
                    f"row: it holds {kind_of(given)}"
                )
                return NodeError("bad_output", text)
        return tuple(record)

    def _not_unique(self) -> NodeError:
        return NodeError(
            "key_not_unique", f"{self._name} has several rows of one key; a lookup needs one a key"
        )
