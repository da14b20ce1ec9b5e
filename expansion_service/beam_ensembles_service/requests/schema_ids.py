"""The ids of schemas in messages: walked, replaced, compared.

A schema's id says which type of the caller's language the rows decode to. It is not a key: Go's is a hash of the
type's name alone, so two programs, or one program before and after an edit, send different schemas under one
id.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from apache_beam.portability.api import schema_pb2


def content_id(schema: schema_pb2.Schema) -> str:
    """Returns an id that only schemas of the same content and the same own id share."""
    return f"content-{hashlib.sha256(schema.SerializeToString(deterministic=True)).hexdigest()[:32]}"


def replace_ids(schema: schema_pb2.Schema, replacement: Callable[[schema_pb2.Schema], str]) -> None:
    """Replaces the ids of a schema and of the schemas within it, in place.

    Args:
        schema: What to change.
        replacement: Gives the new id of a schema whose inner schemas have their old ids still.
    """
    if schema.id:
        schema.id = replacement(schema)
    for field in schema.fields:
        for inner in _schemas_in(field.type):
            replace_ids(inner, replacement)


def same_rows(one: schema_pb2.Schema, other: schema_pb2.Schema) -> bool:
    """Returns whether rows of both have the same fields and the same bytes, whatever the ids and options."""
    return _bare(one) == _bare(other)


def _schemas_in(type_: schema_pb2.FieldType) -> Iterator[schema_pb2.Schema]:
    """Yields the nearest schemas within a field's type: those that no other schema of the type encloses."""
    kind = type_.WhichOneof("type_info")
    if kind == "row_type":
        yield type_.row_type.schema
    elif kind in ("array_type", "iterable_type"):
        yield from _schemas_in(getattr(type_, kind).element_type)
    elif kind == "map_type":
        yield from _schemas_in(type_.map_type.key_type)
        yield from _schemas_in(type_.map_type.value_type)
    elif kind == "logical_type":
        yield from _schemas_in(type_.logical_type.representation)


def _bare(schema: schema_pb2.Schema) -> schema_pb2.Schema:
    bare = schema_pb2.Schema()
    for index, field in enumerate(schema.fields):
        position = field.encoding_position if schema.encoding_positions_set else index
        bare.fields.add(name=field.name, type=field.type, encoding_position=position)
    for field in bare.fields:
        for inner in _schemas_in(field.type):
            inner.CopyFrom(_bare(inner))
    return bare
