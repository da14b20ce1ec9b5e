"""Decides which requests are served at all, before anything in them is decoded.

A request to Beam's stock expansion service can run code in five ways: a transform named by its Python path,
a pickled transform (as the transform or as the producer of an input), a pickled coder or window function of
an input, an input whose coder's id is itself a pickle, and source text in a configuration field. So this is
a list of what is allowed, and of each input only what is needed: rows, in one of Beam's own windows. What
else lies in a request (Python's clients send a pickled coder for an output) is carried along unread.
"""

from __future__ import annotations

from typing import Any, Final

from apache_beam.portability import common_urns
from apache_beam.portability.api import (
    beam_expansion_api_pb2,
    beam_runner_api_pb2,
    external_transforms_pb2,
    schema_pb2,
)
from apache_beam.transforms.core import Windowing
from google.protobuf.message import DecodeError

from beam_ensembles.columns.schema_checks import schema_fault
from beam_ensembles.errors import InvalidEnsemble, Problem, nearest
from beam_ensembles.messages.printable import shortened
from beam_ensembles.transforms import RUN_ENSEMBLE
from beam_ensembles_service.requests.sizes import RequestRefused, check_configuration_size, check_sizes

SCHEMA_TRANSFORM: Final[str] = common_urns.schematransform_based_expand.urn
"""The only kind of transform that is expanded."""

IDENTIFIERS: Final = (RUN_ENSEMBLE,)
"""The schema transforms on offer."""

_ROW_CODER: Final[str] = common_urns.coders.ROW.urn
_BYTES_CODER: Final[str] = common_urns.coders.BYTES.urn
_WINDOW_FNS: Final = frozenset(
    window.urn
    for window in (
        common_urns.global_windows,
        common_urns.fixed_windows,
        common_urns.sliding_windows,
        common_urns.session_windows,
    )
)


def check_request(
    request: beam_expansion_api_pb2.ExpansionRequest,
) -> external_transforms_pb2.SchemaTransformPayload:
    """Checks that a request can be served without running anything that came with it.

    Args:
        request: As the client sent it.

    Returns:
        The payload of the transform, its configuration row still encoded.

    Raises:
        RequestRefused: The request is too large, is malformed, is for another transform, or its input needs code to
            be read.
        InvalidEnsemble: The input is neither a collection of rows nor of bytes that may hold some.
    """
    check_sizes(request)
    payload = _check_transform(request.transform.spec)
    _check_input(request)
    return payload


def _check_transform(
    spec: beam_runner_api_pb2.FunctionSpec,
) -> external_transforms_pb2.SchemaTransformPayload:
    if spec.urn != SCHEMA_TRANSFORM:
        raise RequestRefused(
            f"this service expands only the schema transforms {_listed(IDENTIFIERS)}, "
            f"not transforms of the kind '{shortened(spec.urn)}'"
        )
    try:
        payload = external_transforms_pb2.SchemaTransformPayload.FromString(spec.payload)
    except DecodeError as exc:
        raise RequestRefused("the transform's payload is not a SchemaTransformPayload") from exc
    if payload.identifier not in IDENTIFIERS:
        named = shortened(payload.identifier)
        raise RequestRefused(
            f"no schema transform '{named}' here{nearest(named, IDENTIFIERS)} "
            f"(this service offers {_listed(IDENTIFIERS)})"
        )
    check_configuration_size(payload.configuration_row)
    if fault := schema_fault(payload.configuration_schema):
        raise RequestRefused(f"the schema of the configuration {fault}")
    for field in payload.configuration_schema.fields:
        if not _is_plain(field.type):
            raise RequestRefused(
                f"the configuration field '{shortened(field.name)}' has a logical type; "
                "strings, bytes, numbers, arrays, maps and rows are accepted"
            )
    return payload


def _check_input(request: beam_expansion_api_pb2.ExpansionRequest) -> None:
    components = request.components
    if len(request.transform.inputs) != 1:
        raise RequestRefused(f"the transform takes one input collection, not {len(request.transform.inputs)}")
    (input_id,) = request.transform.inputs.values()
    if input_id not in components.pcollections:
        raise RequestRefused(f"the request lacks its own input collection '{shortened(input_id)}'")
    collection = components.pcollections[input_id]
    if collection.coder_id not in components.coders:
        raise RequestRefused("the request lacks the coder of its input collection")
    if collection.windowing_strategy_id not in components.windowing_strategies:
        raise RequestRefused("the request lacks the windowing strategy of its input collection")
    _check_windowing(components.windowing_strategies[collection.windowing_strategy_id])
    coder = components.coders[collection.coder_id]
    if coder.component_coder_ids:
        raise RequestRefused(
            "the coder of the input collection has components, which coders of rows have not"
        )
    if coder.spec.urn not in (_ROW_CODER, _BYTES_CODER):
        raise InvalidEnsemble([Problem("input", "input_not_rows", _not_rows(coder.spec.urn))])
    if coder.spec.urn == _ROW_CODER:
        _check_rows(coder.spec.payload)


def _check_windowing(windowing: beam_runner_api_pb2.WindowingStrategy) -> None:
    if windowing.window_fn.urn not in _WINDOW_FNS:
        raise RequestRefused(
            f"the input has windows of the kind '{shortened(windowing.window_fn.urn)}'; "
            "global, fixed, sliding and session windows are accepted"
        )
    try:
        found: Any = Windowing.from_runner_api(windowing, None)
        found.windowfn.to_runner_api_parameter(None)
        found.triggerfn.to_runner_api(None)
    except Exception as exc:  # Beam raises whatever it stumbles on; nothing of these windows is code
        said = f": {shortened(str(exc))}" if isinstance(exc, ValueError) else ""
        text = "the windowing strategy of the input is invalid: its window function or its trigger cannot be read"
        raise RequestRefused(text + said) from exc


def _check_rows(payload: bytes) -> None:
    try:
        schema = schema_pb2.Schema.FromString(payload)
    except DecodeError as exc:
        raise RequestRefused("the coder of the input collection holds no valid schema") from exc
    if fault := schema_fault(schema):
        raise RequestRefused(f"the schema of the input collection {fault}")


def check_encoding(request: beam_expansion_api_pb2.ExpansionRequest, is_arrow: bool) -> None:
    """Checks that the input's elements are what the configuration says of them.

    Args:
        request: A request that ``check_request`` lets through.
        is_arrow: Whether the configuration says that the elements are bytes that hold Arrow record batches.

    Raises:
        InvalidEnsemble: They are not.
    """
    (input_id,) = request.transform.inputs.values()
    components = request.components
    coder = components.coders[components.pcollections[input_id].coder_id].spec.urn
    if is_arrow and coder != _BYTES_CODER:
        found = shortened(coder)
        text = (
            f"encoding 'arrow' needs an input of bytes (coder '{_BYTES_CODER}'), but its coder is '{found}'"
        )
        raise InvalidEnsemble([Problem("encoding", "wrong_config", text)])
    if not is_arrow and coder != _ROW_CODER:
        raise InvalidEnsemble([Problem("input", "input_not_rows", _not_rows(coder))])


def _not_rows(urn: str) -> str:
    coder = shortened(urn)
    return (
        f"the input must be a collection of rows with a schema (coder '{_ROW_CODER}'), but its coder is "
        f"'{coder}'; turn the elements into rows first, or use the client library, which carries others along"
    )


def _is_plain(type_: schema_pb2.FieldType) -> bool:
    kind = type_.WhichOneof("type_info")
    if kind in ("array_type", "iterable_type"):
        return _is_plain(getattr(type_, kind).element_type)
    if kind == "map_type":
        return _is_plain(type_.map_type.key_type) and _is_plain(type_.map_type.value_type)
    if kind == "row_type":
        return all(_is_plain(field.type) for field in type_.row_type.schema.fields)
    return kind == "atomic_type"


def _listed(identifiers: tuple[str, ...]) -> str:
    return ", ".join(f"'{identifier}'" for identifier in identifiers)
