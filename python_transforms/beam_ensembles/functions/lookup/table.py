"""A table of a database: its columns as the database describes them, and its rows by key."""

from __future__ import annotations

import contextlib
import dataclasses
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import exc

from beam_ensembles.errors import BatchFailed, InvalidEnsemble, NodeError, Problem, listed, nearest
from beam_ensembles.functions.lookup.engine import without_secrets
from beam_ensembles.functions.lookup.values import Convert, converter
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.types import NUMPY_DTYPES, Scalar, Type

Key = tuple[Any, ...]
Record = tuple[Any, ...]
"""The values of a row, in the order of the node's outputs; None is null."""

_MOST_PARAMETERS: Final = 1_000
"""In one query; Oracle takes no more in a list, SQL Server 2,100 in all."""


class Unreachable(BatchFailed):
    """The database did not answer; it may the next time."""


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
        engine: The connections.
        select: The query by the parameter ``keys``.
        values: The columns that are looked up.
        name: The table's name, for messages.
        parts: The parts of a key.
    """

    def __init__(
        self,
        engine: sa.Engine,
        select: sa.Select[Any],
        values: Sequence[Value],
        name: str,
        parts: Sequence[KeyPart],
    ) -> None:
        self._engine, self._select, self._values, self._name = engine, select, values, name
        self._parts = parts

    def rows(self, keys: Iterable[Key]) -> dict[Key, Record | NodeError | None]:
        """Gives the row of each key: its values, None where there is none, an error where it cannot be given.

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
        """Gives a key as the database holds it; None where it can hold no such key."""
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
        with failures(self._engine), self._engine.connect() as connection:
            return connection.execute(self._select.limit(most), {"keys": keys}).all()

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
                    f"'{value.output}' is declared {value.type}, but '{value.name}' of {self._name} holds a value of "
                    f"the type {type(given).__name__} that is none"
                )
                return NodeError("bad_output", text)
        return tuple(record)

    def _not_unique(self) -> NodeError:
        return NodeError(
            "key_not_unique", f"{self._name} has several rows of one key; a lookup needs one a key"
        )


@contextlib.contextmanager
def failures(engine: sa.Engine) -> Iterator[None]:
    """Makes of what SQLAlchemy raises the errors of a node: with the driver's words, without the query or a password.

    Raises:
        NodeError: ``server_unreachable`` (``Unreachable``), ``server_refused`` (``BatchFailed``), or ``model_error``,
            which may be due to a row.
    """
    try:
        yield
    except exc.SQLAlchemyError as error:
        raise _failure(error, engine) from None


def _failure(error: exc.SQLAlchemyError, engine: sa.Engine) -> NodeError:
    cause: BaseException = error
    if isinstance(error, exc.DBAPIError) and error.orig is not None:
        cause = error.orig
    text = f"{type(cause).__name__}: {without_secrets(' '.join(str(cause).split()), engine)}"
    is_gone = isinstance(error, exc.DBAPIError) and error.connection_invalidated
    if is_gone or isinstance(error, exc.OperationalError | exc.InterfaceError | exc.TimeoutError):
        return Unreachable("server_unreachable", f"the database does not answer: {text}")
    if isinstance(error, exc.ProgrammingError):
        return BatchFailed("server_refused", f"the database refuses the query: {text}")
    return NodeError("model_error", f"the database refuses the query: {text}")


def find_table(node: CheckedNode, engine: sa.Engine) -> Table:
    """Asks the database what the node's table is like, and compares the node with it.

    Raises:
        InvalidEnsemble: ``signature_mismatch``: there is no such table, it lacks a column, or a key is of another type.
        BatchFailed: The database does not answer, or not to this caller.
    """
    schema, _, name = str(node.spec.options["table"]).rpartition(".")
    with failures(engine):
        inspector = sa.inspect(engine)
        try:
            described = inspector.get_columns(name, schema=schema or None)
        except exc.NoSuchTableError:
            known = [*inspector.get_table_names(schema or None), *inspector.get_view_names(schema or None)]
            text = f"the database has no table '{node.spec.options['table']}'{nearest(name, known)}"
            raise _mismatch(node, {"table": text}) from None
    types = {column["name"]: column["type"] for column in described}
    values = [_value(node, output) for output in node.outputs]
    problems = _wrong_columns(node, types, values)
    if problems:
        raise _mismatch(node, problems)
    ports = _ports(node)
    keys = [sa.column(port, types[port]) for port in ports]
    columns = [*keys, *(sa.column(value.name, types[value.name]) for value in values)]
    source = sa.table(name, schema=schema or None)
    wanted: sa.BindParameter[Any] = sa.bindparam("keys", expanding=True)
    place = keys[0].in_(wanted) if len(keys) == 1 else sa.tuple_(*keys).in_(wanted)
    # Labels, so that a key that is looked up too stands there twice.
    labelled = [column.label(f"c{at}") for at, column in enumerate(columns)]
    query = sa.select(*labelled).select_from(source).where(place)
    parts = [_key_part(types[port]) for port in ports]
    return Table(engine, query, values, str(node.spec.options["table"]), parts)


def _ports(node: CheckedNode) -> tuple[str, ...]:
    return (node.spec.inputs.ports if node.spec.inputs is not None else None) or ()


def _value(node: CheckedNode, output: str) -> Value:
    port = next(one.port for one in node.spec.outputs if one.column == output)
    type_ = node.outputs[output]
    return Value(output, port or output, type_, converter(type_.required()))


def _wrong_columns(node: CheckedNode, types: Mapping[str, Any], values: Sequence[Value]) -> dict[str, str]:
    found = {}
    table = node.spec.options["table"]
    known = listed(list(types), 40)
    inputs = node.spec.inputs
    for at, port in enumerate(_ports(node)):
        place = inputs.path(at) if inputs is not None else "key"
        if port not in types:
            found[place] = (
                f"the table '{table}' has no column '{port}'{nearest(port, types)} (columns: {known})"
            )
        elif not _can_compare(node.inputs[node.spec.columns[at]], types[port]):
            column = node.spec.columns[at]
            found[place] = (
                f"'{column}' is {node.inputs[column]}, but '{port}' of '{table}' is {types[port]!r}"
            )
    for value in values:
        if value.name not in types:
            text = f"the table '{table}' has no column '{value.name}'{nearest(value.name, types)} (columns: {known})"
            found[f"outputs.{value.output}"] = text
    return found


def _python_type(type_: Any) -> type | None:
    try:
        found: type = type_.python_type
    except NotImplementedError:
        return None  # a type that SQLAlchemy does not know; the database says whether it can be compared
    return found


def _can_compare(given: Type, column: Any) -> bool:
    held = _python_type(column)
    if held is None or not isinstance(given, Scalar):
        return True
    dtype = NUMPY_DTYPES.get(given.name)
    if dtype is None:
        return held in (str, uuid.UUID)
    return held is not str and held is not bytes and held is not uuid.UUID


def _key_part(column: Any) -> KeyPart:
    if _python_type(column) is uuid.UUID:
        return KeyPart(uuid.UUID, _same)
    return KeyPart(_trimmed, _trimmed) if isinstance(column, sa.CHAR) else KeyPart(_same, _same)


def _same(value: Any) -> Any:
    return value


def _trimmed(value: Any) -> Any:
    """Takes off the spaces with which a database fills up what is declared CHAR(n)."""
    return value.rstrip(" ") if isinstance(value, str) else value


def _mismatch(node: CheckedNode, problems: Mapping[str, str]) -> InvalidEnsemble:
    return InvalidEnsemble(
        Problem(node.spec.path(place), "signature_mismatch", text) for place, text in problems.items()
    )
