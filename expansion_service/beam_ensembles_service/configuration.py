"""The configuration row of a schema transform, as a mapping of plain values."""

from __future__ import annotations

from typing import Any

from apache_beam.portability.api import external_transforms_pb2, schema_pb2

from beam_ensembles.columns.row_coder import PositionalRowCoder
from beam_ensembles_service.policy import RequestRefused


def decode_configuration(payload: external_transforms_pb2.SchemaTransformPayload) -> dict[str, Any]:
    """Decodes the configuration row by the schema that came with it.

    The coder goes by position and knows no language types, so decoding cannot run code.

    Args:
        payload: Its schema holds atomic types, arrays, maps and rows only (``policy.check_request``).

    Returns:
        The fields that have a value: strings, bytes, numbers, lists, dicts (for maps and for rows).

    Raises:
        RequestRefused: The bytes are no row of that schema.
    """
    try:
        coder: Any = PositionalRowCoder(payload.configuration_schema)
        row = coder.decode(payload.configuration_row)
    except Exception as exc:
        raise RequestRefused("the configuration row is not encoded as its schema says") from exc
    return _mapping(payload.configuration_schema, row)


def _mapping(schema: schema_pb2.Schema, row: tuple[Any, ...]) -> dict[str, Any]:
    fields = zip(schema.fields, row, strict=True)
    return {field.name: _plain(field.type, value) for field, value in fields if value is not None}


def _plain(type_: schema_pb2.FieldType, value: Any) -> Any:
    kind = type_.WhichOneof("type_info")
    if value is None or kind == "atomic_type":
        return value
    if kind == "row_type":
        return _mapping(type_.row_type.schema, value)
    if kind == "map_type":
        return {key: _plain(type_.map_type.value_type, item) for key, item in value.items()}
    return [_plain(getattr(type_, str(kind)).element_type, item) for item in value]
