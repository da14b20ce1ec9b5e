"""Requests to the expansion service, built as each SDK builds them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apache_beam.portability import common_urns
from apache_beam.portability.api import (
    beam_expansion_api_pb2,
    beam_runner_api_pb2,
    external_transforms_pb2,
    schema_pb2,
)

from beam_ensembles.beam_repairs.row_coder import PositionalRowCoder, row_class
from beam_ensembles.columns.schemas import schema_of
from beam_ensembles.transforms import RUN_ENSEMBLE
from beam_ensembles.transforms.config import field_types
from beam_ensembles.types import parse_type

SCHEMA_TRANSFORM: Final = "beam:expansion:payload:schematransform:v1"

MEAN_OF_TWO: Final = """\
ensemble: pair
inputs: {a: double, b: double}
nodes:
  middle: {combine: mean, inputs: [a, b], outputs: {m: double}}
"""
"""An ensemble that needs no model file and no framework."""


def schema(schema_id: str = "", **fields: str) -> schema_pb2.Schema:
    """Returns the schema of named fields, each by its type's text."""
    found = schema_of((name, parse_type(type_)) for name, type_ in fields.items())
    found.id = schema_id
    return found


def payload_of(config: Mapping[str, Any]) -> external_transforms_pb2.SchemaTransformPayload:
    """Encodes a configuration with only the fields that it has, as the client libraries do."""
    types = field_types()
    fields = {name: str(types[name].required()) if name in types else "string" for name in config}
    config_schema = schema("config", **fields)
    values = [tuple(v.values()) if name == "error_handling" else v for name, v in config.items()]
    values = [row_class(("output",))._make(v) if isinstance(v, tuple) else v for v in values]
    coder: Any = PositionalRowCoder(config_schema)
    return external_transforms_pb2.SchemaTransformPayload(
        identifier=RUN_ENSEMBLE,
        configuration_schema=config_schema,
        configuration_row=coder.encode(row_class(tuple(config))._make(values)),
    )


def like_go(
    config: Mapping[str, Any], rows: schema_pb2.Schema, namespace: str = "QxXkLm"
) -> beam_expansion_api_pb2.ExpansionRequest:
    """Builds a request as Go's SDK does.

    The input has no producer, the outputs are named, the coders that the input does not reach (``c2``,
    ``c3``) are without the namespace, the environment is Go's own.
    """
    request = _request(config, "External", namespace)
    request.transform.inputs["i0"] = "n1"
    request.transform.outputs["output"] = "n2"
    components = request.components
    _add_row_coder(components, f"c0@{namespace}", rows)
    components.coders[f"c1@{namespace}"].spec.urn = common_urns.coders.GLOBAL_WINDOW.urn
    components.coders["c2"].spec.urn = common_urns.coders.VARINT.urn
    components.coders["c3"].spec.urn = common_urns.coders.ITERABLE.urn
    components.coders["c3"].component_coder_ids.append("c2")
    _add_windowing(components, f"w0@{namespace}", f"c1@{namespace}", "go")
    for collection in ("n1", "n2"):
        _add_collection(components, collection, f"c0@{namespace}", f"w0@{namespace}")
    components.environments["go"].urn = "beam:env:docker:v1"
    return request


def like_java(
    config: Mapping[str, Any], rows: schema_pb2.Schema, namespace: str = "External_3"
) -> beam_expansion_api_pb2.ExpansionRequest:
    """Builds a request as Java's SDK does: ids that start with the namespace, impulses, options."""
    request = _request(config, "RunEnsemble", namespace)
    request.transform.inputs["input"] = f"{namespace}PCollection"
    components = request.components
    _add_row_coder(components, f"{namespace}SchemaCoder", rows)
    components.coders[f"{namespace}GlobalWindowCoder"].spec.urn = common_urns.coders.GLOBAL_WINDOW.urn
    environment = f"{namespace}beam:env:docker:v1"
    components.environments[environment].urn = "beam:env:docker:v1"
    windowing = f"{namespace}WindowingStrategy"
    _add_windowing(components, windowing, f"{namespace}GlobalWindowCoder", environment)
    _add_collection(components, f"{namespace}PCollection", f"{namespace}SchemaCoder", windowing)
    impulse = components.transforms["impulse_input"]
    impulse.unique_name = "impulse_input"
    impulse.spec.urn = common_urns.primitives.IMPULSE.urn
    impulse.outputs["output"] = f"{namespace}PCollection"
    request.pipeline_options["beam:option:runner:v1"] = "org.apache.beam.runners.portability.PortableRunner"
    return request


def _request(config: Mapping[str, Any], name: str, namespace: str) -> beam_expansion_api_pb2.ExpansionRequest:
    spec = beam_runner_api_pb2.FunctionSpec(
        urn=SCHEMA_TRANSFORM, payload=payload_of(config).SerializeToString()
    )
    return beam_expansion_api_pb2.ExpansionRequest(
        transform=beam_runner_api_pb2.PTransform(unique_name=name, spec=spec), namespace=namespace
    )


def _add_row_coder(components: beam_runner_api_pb2.Components, name: str, rows: schema_pb2.Schema) -> None:
    components.coders[name].spec.urn = common_urns.coders.ROW.urn
    components.coders[name].spec.payload = rows.SerializeToString()


def _add_windowing(
    components: beam_runner_api_pb2.Components, name: str, coder: str, environment: str
) -> None:
    windowing = components.windowing_strategies[name]
    windowing.window_fn.urn = common_urns.global_windows.urn
    windowing.window_coder_id = coder
    windowing.trigger.default.SetInParent()
    windowing.accumulation_mode = beam_runner_api_pb2.AccumulationMode.DISCARDING
    windowing.output_time = beam_runner_api_pb2.OutputTime.END_OF_WINDOW
    windowing.environment_id = environment


def _add_collection(
    components: beam_runner_api_pb2.Components, name: str, coder: str, windowing: str
) -> None:
    collection = components.pcollections[name]
    collection.unique_name = name
    collection.coder_id = coder
    collection.windowing_strategy_id = windowing
    collection.is_bounded = beam_runner_api_pb2.IsBounded.BOUNDED
