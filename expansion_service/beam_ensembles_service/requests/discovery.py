"""Lists the schema transforms for clients, with their configuration field by field."""

from __future__ import annotations

from typing import Final

from apache_beam.portability.api import beam_expansion_api_pb2, schema_pb2

from beam_ensembles.columns.schemas import field_type
from beam_ensembles.transforms import RUN_ENSEMBLE
from beam_ensembles.transforms.config import OUTPUT, field_descriptions, field_types
from beam_ensembles.transforms.run_ensemble import ERRORS

DESCRIPTION: Final = (
    "Runs an ensemble of models over rows: each row comes out with the ensemble's columns added. The "
    "ensemble is one file (YAML or JSON), given as text in 'spec' or by its place in 'spec_uri'. With "
    "'error_handling' the rows that cannot be scored come out on a second output, as rows of element, "
    "ensemble, node, code, msg and stack."
)

_SCHEMA_ID: Final = "beam-ensembles-run-ensemble-config-v1"


def discover() -> beam_expansion_api_pb2.DiscoverSchemaTransformResponse:
    """Returns the answer to ``DiscoverSchemaTransform``."""
    config = beam_expansion_api_pb2.SchemaTransformConfig(
        config_schema=_config_schema(),
        input_pcollection_names=["input"],
        output_pcollection_names=[OUTPUT, ERRORS],
        description=DESCRIPTION,
    )
    return beam_expansion_api_pb2.DiscoverSchemaTransformResponse(
        schema_transform_configs={RUN_ENSEMBLE: config}
    )


def _config_schema() -> schema_pb2.Schema:
    descriptions = field_descriptions()
    fields = [
        schema_pb2.Field(name=name, description=descriptions[name], type=field_type(type_))
        for name, type_ in field_types().items()
    ]
    return schema_pb2.Schema(id=_SCHEMA_ID, fields=fields)
