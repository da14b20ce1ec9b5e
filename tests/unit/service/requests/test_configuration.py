"""The configuration row, decoded by its own schema."""

from __future__ import annotations

from typing import Any

import pytest
from apache_beam.coders.row_coder import RowCoder
from apache_beam.portability.api import external_transforms_pb2
from apache_beam.transforms.external import ExplicitSchemaTransformPayloadBuilder
from apache_beam.typehints.schemas import named_tuple_from_schema

from beam_ensembles.errors import InvalidEnsemble
from beam_ensembles.transforms import RUN_ENSEMBLE
from beam_ensembles.transforms.config import check_fields
from beam_ensembles_service.requests.configuration import decode_configuration, decode_row
from beam_ensembles_service.requests.discovery import discover
from beam_ensembles_service.requests.sizes import MOST_ITEMS, RequestRefused
from tests.support.expansion_requests import payload_of, schema

WHOLE = {
    "spec": "ensemble: x",
    "parameters": {"k": "v", "größe": "1"},
    "pass_through": ["a", "b"],
    "error_handling": {"output": "errors"},
    "output_schema": b"\x00\xff",
}


def test_only_the_fields_that_were_sent_are_there() -> None:
    assert decode_configuration(payload_of(WHOLE)) == WHOLE


def test_a_client_that_sends_every_field_sends_nulls_for_the_rest() -> None:
    config_schema = discover().schema_transform_configs[RUN_ENSEMBLE].config_schema
    payload = ExplicitSchemaTransformPayloadBuilder(RUN_ENSEMBLE, config_schema, **WHOLE).build()
    assert decode_configuration(payload) == WHOLE


def _decoded(payload: external_transforms_pb2.SchemaTransformPayload) -> dict[str, Any]:
    """Decodes a row of fields that the transform does not have."""
    return decode_row(payload.configuration_schema, payload.configuration_row, lambda types: None)


def test_lists_of_rows_and_maps_of_lists_are_plain_values() -> None:
    config_schema = schema("nested", a="array<row<x: int64, y: string?>>", b="map<string,array<double>>")
    row_type: Any = named_tuple_from_schema(config_schema)
    inner: Any = row_type.__annotations__["a"].__args__[0]
    row = row_type([inner(1, "p"), inner(2, None)], {"k": [1.0]})
    payload = external_transforms_pb2.SchemaTransformPayload(
        configuration_schema=config_schema, configuration_row=RowCoder(config_schema).encode(row)
    )
    assert _decoded(payload) == {"a": [{"x": 1, "y": "p"}, {"x": 2}], "b": {"k": [1.0]}}


def test_every_atomic_type_is_read_as_beams_own_coder_writes_it() -> None:
    types = {
        "a": "int8", "b": "int16", "c": "int32", "d": "int64", "e": "float", "f": "double", "g": "boolean",
        "h": "string", "i": "bytes", "j": "array<int64?>", "k": "int64?", "l": "array<boolean>",
    }  # fmt: skip
    values = (3, -300, -70000, -(1 << 62), 0.5, -1e300, True, "größe", b"\0", [1, None, -1], None, [])
    config_schema = schema("atoms", **types)
    row_type: Any = named_tuple_from_schema(config_schema)
    payload = external_transforms_pb2.SchemaTransformPayload(
        configuration_schema=config_schema,
        configuration_row=RowCoder(config_schema).encode(row_type(*values)),
    )
    found = _decoded(payload)
    assert found == {name: value for name, value in zip(types, values, strict=True) if value is not None}


def test_fields_that_travel_in_another_order_find_their_names() -> None:
    config_schema = schema("java", a="string", b="string")
    config_schema.encoding_positions_set = True
    config_schema.fields[0].encoding_position, config_schema.fields[1].encoding_position = 1, 0
    payload = external_transforms_pb2.SchemaTransformPayload(
        configuration_schema=config_schema, configuration_row=b"\x02\x00\x01B\x01A"
    )
    assert _decoded(payload) == {"a": "A", "b": "B"}


@pytest.mark.parametrize("size", range(len(payload_of(WHOLE).configuration_row)))
def test_a_row_that_is_cut_short_is_refused(size: int) -> None:
    payload = payload_of(WHOLE)
    payload.configuration_row = payload.configuration_row[:size]
    with pytest.raises(RequestRefused, match="not encoded as its schema says"):
        decode_configuration(payload)


@pytest.mark.parametrize(
    "row", [b"\x01\x00" + b"\xff" * 11, b"\x7f\x00", b"\x01\x00\xff\xff\xff\xff\x0f", b"\x01\x00\x01\xff"]
)
def test_lengths_that_cannot_be_are_refused(row: bytes) -> None:
    payload = payload_of({"spec": "x"})
    payload.configuration_row = row
    with pytest.raises(RequestRefused, match="not encoded as its schema says"):
        decode_configuration(payload)


def test_a_row_that_goes_on_is_refused() -> None:
    payload = payload_of(WHOLE)
    payload.configuration_row += b"\x00"
    with pytest.raises(RequestRefused, match="longer"):
        decode_configuration(payload)


def test_only_options_that_there_are_in_their_types_are_decoded() -> None:
    config_schema = schema(
        "c",
        spec="int64",
        pass_through="array<int64>",
        parameters="array<row<a: string>>",
        error_handling="row<output: int64>",
        provenance="string",
        output_schema="string",
        prefx="string",
    )
    payload = external_transforms_pb2.SchemaTransformPayload(
        configuration_schema=config_schema, configuration_row=b"\x07\x00 garbage that nobody reads"
    )
    with pytest.raises(InvalidEnsemble) as error:
        decode_configuration(payload)
    found = {(problem.path, problem.code) for problem in error.value.problems}
    wrong = {(field.name, "wrong_type") for field in config_schema.fields if field.name != "prefx"}
    assert found == {*wrong, ("prefx", "unknown_option")}


@pytest.mark.parametrize(
    "fields",
    [
        {"refresh_interval_secs": "int32"},
        {"parameters": "row<a: string, b: string?>"},
        {"error_handling": "map<string,string>"},
        {"pass_through": "array<string?>?"},
    ],
)
def test_types_that_stand_for_one_another_are_taken(fields: dict[str, str]) -> None:
    check_fields({field.name: field.type for field in schema("c", **fields).fields})


def test_an_unknown_option_that_is_null_is_not_a_problem() -> None:
    payload = external_transforms_pb2.SchemaTransformPayload(
        configuration_schema=schema("c", spec="string", of_a_later_version="array<row<a: bytes>>?"),
        configuration_row=b"\x02\x01\x02\x01s",
    )
    assert decode_configuration(payload) == {"spec": "s"}


def test_lists_have_a_limit_that_is_looked_at_before_their_entries() -> None:
    payload = payload_of({"pass_through": ["x"] * (MOST_ITEMS + 1)})
    with pytest.raises(RequestRefused, match=f"at most {MOST_ITEMS} are allowed"):
        decode_configuration(payload)
