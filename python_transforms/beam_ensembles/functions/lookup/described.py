"""A node's table as its database describes it, compared with the node."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from beam_ensembles.errors import InvalidEnsemble, Problem, listed, nearest
from beam_ensembles.functions.lookup.engine import Connections
from beam_ensembles.functions.lookup.failures import failures
from beam_ensembles.functions.lookup.settings import LookupOptions
from beam_ensembles.functions.lookup.table import KeyPart, Table, Value
from beam_ensembles.functions.lookup.values import converter
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.types import NUMPY_DTYPES, Scalar, Type


def find_table(node: CheckedNode[LookupOptions], database: Connections) -> Table:
    """Asks the database what the node's table is like, and compares the node with it.

    Raises:
        InvalidEnsemble: ``signature_mismatch``: there is no such table, it lacks a column, or a key is of another type.
        BatchFailed: The database does not answer, or not to this caller.
    """
    schema, _, name = node.options.table.rpartition(".")
    engine = database.engine
    with failures(database):
        inspector = sa.inspect(engine)
        try:
            described = inspector.get_columns(name, schema=schema or None)
        except exc.NoSuchTableError:
            known = [*inspector.get_table_names(schema or None), *inspector.get_view_names(schema or None)]
            text = f"the database has no table '{node.options.table}'{nearest(name, known)}"
            raise _mismatch(node, {"table": text}) from None
    types = {column["name"]: column["type"] for column in described}
    held = {name: _as_held(type_, engine) for name, type_ in types.items()}
    values = [_value(node, output) for output in node.outputs]
    problems = _wrong_columns(node, types, values)
    if problems:
        raise _mismatch(node, problems)
    ports = _ports(node)
    keys = [sa.column(port, types[port]) for port in ports]
    columns = [*keys, *(sa.column(value.name, held[value.name]) for value in values)]
    source = sa.table(name, schema=schema or None)
    wanted: sa.BindParameter[Any] = sa.bindparam("keys", expanding=True)
    place = keys[0].in_(wanted) if len(keys) == 1 else sa.tuple_(*keys).in_(wanted)
    # Labels, so that a key that is looked up too occurs twice.
    labelled = [column.label(f"c{at}") for at, column in enumerate(columns)]
    query = sa.select(*labelled).select_from(source).where(place)
    parts = [_key_part(types[port], engine) for port in ports]
    return Table(database, query, values, node.options.table, parts)


def _as_held(type_: Any, engine: sa.Engine) -> Any:
    """Returns as what a column's values are read: of SQLite as they are in its file.

    SQLAlchemy would make them what the column is declared, which SQLite does not enforce: it rounds numbers to the
    digits of ``NUMERIC(10, 2)`` and cuts the nanoseconds of points in time off.
    """
    return type_ if engine.dialect.name != "sqlite" or isinstance(type_, sa.JSON) else sa.types.NullType()


def _ports(node: CheckedNode[LookupOptions]) -> tuple[str, ...]:
    return (node.spec.inputs.ports if node.spec.inputs is not None else None) or ()


def _value(node: CheckedNode[LookupOptions], output: str) -> Value:
    port = next(one.port for one in node.spec.outputs if one.column == output)
    type_ = node.outputs[output]
    return Value(output, port or output, type_, converter(type_.required()))


def _wrong_columns(
    node: CheckedNode[LookupOptions], types: Mapping[str, Any], values: Sequence[Value]
) -> dict[str, str]:
    found = {}
    table = node.options.table
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


def _key_part(column: Any, engine: sa.Engine) -> KeyPart:
    if _python_type(column) is uuid.UUID:
        return KeyPart(uuid.UUID, _same)
    is_filled_up = isinstance(column, sa.CHAR) and engine.dialect.name != "sqlite"  # whose CHAR(n) is TEXT
    return KeyPart(_trimmed, _trimmed) if is_filled_up else KeyPart(_same, _same)


def _same(value: Any) -> Any:
    return value


def _trimmed(value: Any) -> Any:
    """Takes off the spaces with which a database fills up what is declared CHAR(n)."""
    return value.rstrip(" ") if isinstance(value, str) else value


def _mismatch(node: CheckedNode[LookupOptions], problems: Mapping[str, str]) -> InvalidEnsemble:
    return InvalidEnsemble(
        Problem(node.spec.path(place), "signature_mismatch", text) for place, text in problems.items()
    )
