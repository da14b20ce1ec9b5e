"""Orders an output to the schema with which its caller decodes it.

Some languages decode by a schema's id alone (Go): a field in another place is garbage there, without an error. So the
client sends the whole schema it expects, and the columns come in that order under that schema, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

from apache_beam.portability.api import schema_pb2

from beam_ensembles.columns.logical_types import PRECISE_INSTANT, is_written
from beam_ensembles.columns.schema_checks import schema_fault
from beam_ensembles.columns.schemas import describe
from beam_ensembles.errors import InvalidEnsemble, InvalidOutputType, Problem, listed, nearest

_LISTS: Final = ("array_type", "iterable_type")


def parse_schema(data: bytes, path: str) -> schema_pb2.Schema:
    """Reads a serialized schema.

    Raises:
        InvalidEnsemble: The bytes are no schema, or none that rows can have.
    """
    try:
        schema = schema_pb2.Schema.FromString(data)
    except Exception as error:
        raise InvalidEnsemble(
            [Problem(path, "wrong_config", f"'{path}' is not a serialized Beam schema")]
        ) from error
    if fault := schema_fault(schema):
        raise InvalidEnsemble([Problem(path, "wrong_config", f"the schema in '{path}' {fault}")])
    return schema


def positions_in(
    made: schema_pb2.Schema, wanted: schema_pb2.Schema, path: str, added: Set[str] = frozenset()
) -> tuple[int, ...]:
    """Finds each wanted field among those made.

    Args:
        made: What the transform gives.
        wanted: What the caller decodes with: some or all of the fields, in any order.
        path: The configuration's field, for messages.
        added: The fields that are written as they are wanted: a point in time as any logical type that is one, rows in
            rows with their fields in any order.

    Returns:
        For each wanted field its position in ``made``.

    Raises:
        InvalidOutputType: A field is not made, or is of another type.
    """
    places = {field.name: place for place, field in enumerate(made.fields)}
    problems = []
    positions = []
    for field in wanted.fields:
        where = f"{path}.{field.name}"
        if field.name not in places:
            text = f"the caller's type has a field '{field.name}', which the ensemble's output lacks"
            own = [
                name for name in places if not name.startswith("__")
            ]  # the others are the clients' concern
            text += f"{nearest(field.name, own)} (fields: {listed(own, 30)})"
            problems.append(Problem(where, "output_schema_mismatch", text))
            continue
        position = places[field.name]
        if not fits(made.fields[position].type, field.type, field.name in added):
            text = f"the caller's type has '{field.name}' as {describe(field.type)}, "
            text += f"but the ensemble gives {describe(made.fields[position].type)}"
            problems.append(Problem(where, "output_schema_mismatch", text))
        positions.append(position)
    if problems:
        raise InvalidOutputType(problems)
    return tuple(positions)


def fits(made: schema_pb2.FieldType, wanted: schema_pb2.FieldType, is_added: bool = False) -> bool:
    """Whether bytes written as ``made`` are read rightly as ``wanted``: the same, or null allowed in addition.

    Args:
        made: What the transform gives.
        wanted: What the caller decodes with.
        is_added: Whether the ensemble makes the values, so that points in time, and the fields of rows in rows, can be
            written as they are wanted.
    """
    if made.nullable and not wanted.nullable:
        return False
    info, other = made.WhichOneof("type_info"), wanted.WhichOneof("type_info")
    if info in _LISTS and other in _LISTS:
        return _same(getattr(made, info).element_type, getattr(wanted, other).element_type, is_added)
    if info != other:
        return False
    if info == "map_type":
        keys = _same(made.map_type.key_type, wanted.map_type.key_type, is_added)
        return keys and _same(made.map_type.value_type, wanted.map_type.value_type, is_added)
    if info == "row_type":
        return _rows_fit(made.row_type.schema.fields, wanted.row_type.schema.fields, is_added)
    if info == "logical_type":
        if is_added and is_written(wanted.logical_type.urn):
            return True
        return _same_logical(made.logical_type, wanted.logical_type)
    return bool(made.atomic_type == wanted.atomic_type)


def _rows_fit(made: Sequence[schema_pb2.Field], wanted: Sequence[schema_pb2.Field], is_added: bool) -> bool:
    """Whether rows in rows fit; those that the ensemble makes are written in the order of the caller's."""
    ours, theirs = ([field.name for field in fields] for fields in (made, wanted))
    if (sorted(ours) != sorted(theirs)) if is_added else (ours != theirs):
        return False
    types = {field.name: field.type for field in made}
    return all(fits(types[field.name], field.type, is_added) for field in wanted)


def _same_logical(made: schema_pb2.LogicalType, wanted: schema_pb2.LogicalType) -> bool:
    return bool(made.urn == wanted.urn) and (made.urn != PRECISE_INSTANT or made.argument == wanted.argument)


def _same(made: schema_pb2.FieldType, wanted: schema_pb2.FieldType, is_added: bool) -> bool:
    """Items of lists and maps carry a mark where they are nullable, so that must be the same."""
    return made.nullable == wanted.nullable and fits(made, wanted, is_added)
