"""Checks a Beam schema that came from outside, before anything is made of it.

Beam's own machinery raises whatever it stumbles on, or takes the schema and reads other fields than its sender wrote.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Final

from apache_beam.portability.api import schema_pb2

from beam_ensembles.messages.printable import shortened

MOST_FIELDS: Final = 10_000
"""How many fields a schema may have, those of the rows within it included."""
MOST_LEVELS: Final = 16
"""How deep types may be nested. Protobuf reads 100 messages in each other, and a level takes up to four."""

_LISTS: Final = ("array_type", "iterable_type")
_ATOMIC: Final = frozenset(schema_pb2.AtomicType.values()) - {schema_pb2.UNSPECIFIED}


def schema_fault(schema: schema_pb2.Schema) -> str | None:
    """Returns what is wrong with a schema, in words that follow its name; None where nothing is.

    Args:
        schema: As it came; nothing is known of it.
    """
    fields = 0
    waiting = [(schema, 1)]
    while waiting:
        found, level = waiting.pop()
        fields += len(found.fields)
        if fields > MOST_FIELDS:
            return f"has more than {MOST_FIELDS} fields"
        if fault := _fault_of_names(found):
            return fault
        for field in found.fields:
            try:
                waiting += _schemas_in(field.type, level + 1)
            except ValueError as exc:
                return f"has a field '{shortened(field.name)}' {exc}"
    return None


def _fault_of_names(schema: schema_pb2.Schema) -> str | None:
    names = [field.name for field in schema.fields]
    if len(set(names)) < len(names):
        ((most, _),) = collections.Counter(names).most_common(1)
        return f"has two fields '{shortened(most)}'"
    positions = sorted(field.encoding_position for field in schema.fields)
    if schema.encoding_positions_set and positions != list(range(len(names))):
        return f"has encoding positions that are not 0 to {len(names) - 1}, each once"
    return None


def _schemas_in(type_: schema_pb2.FieldType, level: int) -> Iterator[tuple[schema_pb2.Schema, int]]:
    """Yields the nearest schemas within a type, with their level.

    Raises:
        ValueError: The type cannot be; the message follows the field's name.
    """
    if level > MOST_LEVELS:
        raise ValueError(f"whose type is nested more than {MOST_LEVELS} levels deep")
    kind = type_.WhichOneof("type_info")
    if kind == "row_type":
        yield type_.row_type.schema, level
    elif kind in _LISTS:
        yield from _schemas_in(getattr(type_, kind).element_type, level + 1)
    elif kind == "map_type":
        yield from _schemas_in(type_.map_type.key_type, level + 1)
        yield from _schemas_in(type_.map_type.value_type, level + 1)
    elif kind == "logical_type":
        if not type_.logical_type.HasField("representation"):
            raise ValueError("of a logical type without a representation")
        yield from _schemas_in(type_.logical_type.representation, level + 1)
    elif kind != "atomic_type":
        raise ValueError("without a type")
    elif type_.atomic_type not in _ATOMIC:
        raise ValueError(f"of the unknown atomic type {type_.atomic_type}")
