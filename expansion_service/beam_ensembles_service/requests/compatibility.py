"""Converts requests to what Beam's Python expects, and answers to what the caller expects.

Request side: Go sends inputs without producers for any transform whose urn does not say ``python``; it sends
coders under ids that mean something else in its final pipeline (``c2``); and schema ids are no keys
(``schema_ids``). Answer side: rows decode to the caller's own types only where the output's schema carries
the caller's id.

Written for Apache Beam 2.77 (Python and Go) and 2.65 (Java).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from apache_beam.portability import common_urns
from apache_beam.portability.api import beam_expansion_api_pb2, beam_runner_api_pb2, schema_pb2

from beam_ensembles.messages.printable import shortened
from beam_ensembles_service.requests.schema_ids import content_id, replace_ids, same_rows
from beam_ensembles_service.requests.sizes import RequestRefused

_ROW_CODER: Final[str] = common_urns.coders.ROW.urn
_IMPULSE: Final[str] = common_urns.primitives.IMPULSE.urn


@dataclasses.dataclass(frozen=True, slots=True)
class AdaptedRequest:
    """A request as Beam's Python takes it, and what its answer needs.

    Attributes:
        request: The request with what its input needs and no other component: the input has an impulse as its
            producer, coder ids are in the request's namespace, schema ids are content hashes.
        original: The request as it came.
        renamed: All components of the original, with coder ids in the request's namespace.
        impulses: Ids of the impulses that were put in.
        caller_ids: The caller's schema id of each content hash.
    """

    request: beam_expansion_api_pb2.ExpansionRequest
    original: beam_expansion_api_pb2.ExpansionRequest
    renamed: beam_runner_api_pb2.Components
    impulses: tuple[str, ...]
    caller_ids: Mapping[str, str]


def adapt(original: beam_expansion_api_pb2.ExpansionRequest) -> AdaptedRequest:
    """Returns the request in the form that Beam's Python expects, without changing the original.

    Args:
        original: A request that ``policy.check_request`` lets through.
    """
    renamed = beam_runner_api_pb2.Components()
    renamed.CopyFrom(original.components)
    _rename_coders(renamed, original.namespace)
    request = beam_expansion_api_pb2.ExpansionRequest(
        transform=original.transform, namespace=original.namespace, requirements=original.requirements
    )
    _copy_input(request, renamed)
    impulses = _add_producers(request)
    return AdaptedRequest(request, original, renamed, impulses, _replace_schema_ids(request.components))


def restore(
    adapted: AdaptedRequest,
    response: beam_expansion_api_pb2.ExpansionResponse,
    expected: Mapping[str, schema_pb2.Schema],
) -> None:
    """Converts an answer in place to what the caller expects.

    Args:
        adapted: The request that is answered.
        response: What Beam's Python answers.
        expected: The schema, with its id, that the caller decodes an output with, by the output's tag.

    Raises:
        RequestRefused: The request has a component with an id that the expansion gives to one of its own.
        ValueError: An output's rows are not those of the expected schema.
    """
    for impulse in adapted.impulses:
        del response.components.transforms[impulse]
    response.transform.spec.CopyFrom(adapted.original.transform.spec)
    _restore_schema_ids(response.components, adapted.caller_ids)
    _add_callers(response.components, adapted)
    for tag, schema in expected.items():
        _stamp(response, tag, schema)


def _rename_coders(components: beam_runner_api_pb2.Components, namespace: str) -> None:
    """Puts every coder id into the namespace: none comes back that the caller uses for another coder."""
    suffix = f"@{namespace}"
    renamed = {name: f"{name}{suffix}" for name in components.coders if not name.endswith(suffix)}
    for name, new_name in renamed.items():
        components.coders[new_name].CopyFrom(components.coders[name])
        del components.coders[name]
    for coder in components.coders.values():
        coder.component_coder_ids[:] = [renamed.get(name, name) for name in coder.component_coder_ids]
    for collection in components.pcollections.values():
        collection.coder_id = renamed.get(collection.coder_id, collection.coder_id)
    for windowing in components.windowing_strategies.values():
        windowing.window_coder_id = renamed.get(windowing.window_coder_id, windowing.window_coder_id)


def _copy_input(
    request: beam_expansion_api_pb2.ExpansionRequest, components: beam_runner_api_pb2.Components
) -> None:
    """Copies the input's collection, coder and windowing strategy: whatever else came is never decoded."""
    for input_id in request.transform.inputs.values():
        collection = components.pcollections[input_id]
        request.components.pcollections[input_id].CopyFrom(collection)
        request.components.coders[collection.coder_id].CopyFrom(components.coders[collection.coder_id])
        windowing = collection.windowing_strategy_id
        request.components.windowing_strategies[windowing].CopyFrom(
            components.windowing_strategies[windowing]
        )


def _add_callers(components: beam_runner_api_pb2.Components, adapted: AdaptedRequest) -> None:
    """Adds the caller's components to those of the answer, as they came."""
    for field in components.DESCRIPTOR.fields:
        made, callers = getattr(components, field.name), getattr(adapted.renamed, field.name)
        known = getattr(adapted.request.components, field.name)
        for name, component in callers.items():
            if name in made and name not in known:
                raise RequestRefused(
                    f"the request has a component '{shortened(name)}', which is the id of one that the expansion adds; "
                    "send another namespace with each request"
                )
            if name not in made:
                made[name].CopyFrom(component)


def _add_producers(request: beam_expansion_api_pb2.ExpansionRequest) -> tuple[str, ...]:
    """Returns every input an impulse as its producer, instead of what was sent, which is never decoded."""
    impulses = {f"{request.namespace}_producer_{tag}": id_ for tag, id_ in request.transform.inputs.items()}
    for name, collection_id in impulses.items():
        impulse = request.components.transforms[name]
        impulse.unique_name = name
        impulse.spec.urn = _IMPULSE
        impulse.outputs["out"] = collection_id
    return tuple(impulses)


def _replace_schema_ids(components: beam_runner_api_pb2.Components) -> dict[str, str]:
    caller_ids: dict[str, str] = {}

    def replacement(schema: schema_pb2.Schema) -> str:
        own = content_id(schema)
        caller_ids[own] = schema.id
        return own

    for coder in components.coders.values():
        if coder.spec.urn == _ROW_CODER:
            schema = schema_pb2.Schema.FromString(coder.spec.payload)
            replace_ids(schema, replacement)
            coder.spec.payload = schema.SerializeToString(deterministic=True)
    return caller_ids


def _restore_schema_ids(components: beam_runner_api_pb2.Components, caller_ids: Mapping[str, str]) -> None:
    for coder in components.coders.values():
        if coder.spec.urn == _ROW_CODER:
            schema = schema_pb2.Schema.FromString(coder.spec.payload)
            replace_ids(schema, lambda found: caller_ids.get(found.id, found.id))
            coder.spec.payload = schema.SerializeToString(deterministic=True)


def _stamp(response: beam_expansion_api_pb2.ExpansionResponse, tag: str, expected: schema_pb2.Schema) -> None:
    """Assigns an output a coder of its own with the caller's schema: others may share the one it has."""
    coders = response.components.coders
    collection = response.components.pcollections[response.transform.outputs[tag]]
    coder = coders[collection.coder_id]
    found = schema_pb2.Schema.FromString(coder.spec.payload)
    if not same_rows(found, expected):
        raise ValueError(f"the rows of the output '{tag}' are not those of the caller's schema")
    stamped = f"{collection.coder_id}_{tag}"
    coders[stamped].CopyFrom(coder)
    coders[stamped].spec.payload = expected.SerializeToString(deterministic=True)
    collection.coder_id = stamped
