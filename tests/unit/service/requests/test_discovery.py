"""What the service says that it offers."""

from __future__ import annotations

from apache_beam.typehints.schemas import named_tuple_from_schema

from beam_ensembles.transforms import RUN_ENSEMBLE
from beam_ensembles.transforms.config import field_types
from beam_ensembles_service.requests.discovery import discover
from beam_ensembles_service.requests.policy import IDENTIFIERS

CONFIG = discover().schema_transform_configs[RUN_ENSEMBLE]


def test_everything_that_is_served_is_described_and_nothing_else() -> None:
    assert set(discover().schema_transform_configs) == set(IDENTIFIERS)


def test_every_option_is_there_in_order_optional_and_described() -> None:
    fields = CONFIG.config_schema.fields
    assert [field.name for field in fields] == list(field_types())
    assert all(field.type.nullable for field in fields)
    assert all(len(field.description) > 20 for field in fields)


def test_inputs_and_outputs_are_named() -> None:
    assert list(CONFIG.input_pcollection_names) == ["input"]
    assert list(CONFIG.output_pcollection_names) == ["output", "errors"]
    assert "ensemble" in CONFIG.description


def test_python_can_make_a_type_of_the_configuration() -> None:
    row_type = named_tuple_from_schema(CONFIG.config_schema)
    assert row_type._fields == tuple(field_types())  # type: ignore[attr-defined]


def test_no_identifier_is_part_of_another() -> None:
    assert not [(a, b) for a in IDENTIFIERS for b in IDENTIFIERS if a != b and a in b]
