"""Schemas' logical types as the SDKs of Go and Java write them."""

from __future__ import annotations

from typing import Any, Final

from apache_beam.portability.api import schema_pb2

_URNS: Final = {
    "millis": "beam:logical_type:millis_instant:v1",
    "micros": "beam:logical_type:micros_instant:v1",
    "nanos": "beam:logical_type:nanos_instant:v1",
    "precise": "beam:logical_type:timestamp:v1",
    "go": "time.Time",
    "uint8": "uint8",
    "date": "beam:logical_type:date:v1",
    "time": "beam:logical_type:time:v1",
    "datetime": "beam:logical_type:datetime:v1",
    "enum": "beam:logical_type:javasdk_enum:v1",
    "decimal": "beam:logical_type:decimal:v1",
    "text": "beam:logical_type:var_char:v1",
    "bytes": "beam:logical_type:fixed_bytes:v1",
}
_REPRESENTED: Final[dict[str, Any]] = {
    "millis": schema_pb2.INT64,
    "micros": {"seconds": schema_pb2.INT64, "micros": schema_pb2.INT32},
    "nanos": {"seconds": schema_pb2.INT64, "nanos": schema_pb2.INT32},
    "precise": {"seconds": schema_pb2.INT64, "subseconds": schema_pb2.INT32},
    "uint8": schema_pb2.BYTE,
    "date": schema_pb2.INT64,
    "time": schema_pb2.INT64,
    "datetime": {"Date": schema_pb2.INT64, "Time": schema_pb2.INT64},
    "enum": schema_pb2.INT32,
    "decimal": schema_pb2.BYTES,
    "text": schema_pb2.STRING,
    "bytes": schema_pb2.BYTES,
    "go": {"EncodedBeamData": schema_pb2.STRING},
}


def enumeration(*names: str) -> schema_pb2.FieldType:
    """Returns the type of a field of an enumeration of Java's."""
    found = logical("enum")
    for at, name in enumerate(names):
        entry = found.logical_type.argument.map_value.entries.add()
        entry.key.atomic_value.string = name
        entry.value.atomic_value.int32 = at
    return found


def logical(name: str, argument: int | None = None) -> schema_pb2.FieldType:
    """Returns the type of a field of a logical type.

    Args:
        name: Which one.
        argument: Its argument, a whole number; None: it has none.
    """
    of = _REPRESENTED[name]
    found = schema_pb2.FieldType()
    found.logical_type.urn = _URNS[name]
    representation = found.logical_type.representation
    if isinstance(of, dict):
        for field, atomic in of.items():
            representation.row_type.schema.fields.add(name=field).type.atomic_type = atomic
    else:
        representation.atomic_type = of
    if argument is not None:
        found.logical_type.argument_type.atomic_type = schema_pb2.INT32
        found.logical_type.argument.atomic_value.int32 = argument
    return found
