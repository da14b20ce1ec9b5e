"""How large the parts of a request may be, checked before any of them is decoded.

Each limit is far above what pipelines send. Without them a request of a few megabytes costs gigabytes: names are
repeated in every step of the answer, and the namespace in every id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from apache_beam.portability.api import beam_expansion_api_pb2, beam_runner_api_pb2
from google.protobuf.descriptor import FieldDescriptor

from beam_ensembles.errors import EnsembleError
from beam_ensembles.messages.printable import shortened

MOST_CONFIGURATION_BYTES: Final = 16 << 20
"""Bytes of the configuration row: the ensemble file's text, its parameters and the caller's schemas."""
MOST_ITEMS: Final = 10_000
"""Entries of one list or map of the configuration."""
MOST_COMPONENTS: Final = 10_000
"""Entries of each map of a request: coders, collections, transforms, windowing strategies, environments."""
MOST_NAME_CHARACTERS: Final = 4_096
"""Characters of a transform's name, an id, a tag or a urn."""
MOST_NAMESPACE_CHARACTERS: Final = 256
"""Characters of the namespace, which becomes part of every id of the answer."""


class RequestRefused(EnsembleError):
    """The request asks for something that this service does not do; the message is one sentence."""


def check_sizes(request: beam_expansion_api_pb2.ExpansionRequest) -> None:
    """Checks counts and lengths of everything in a request that the answer is made of.

    Args:
        request: As the client sent it.

    Raises:
        RequestRefused: Something is over its limit; the message names it, its size and the limit.
    """
    _check_name("name of the transform", request.transform.unique_name, MOST_NAME_CHARACTERS)
    _check_name("namespace", request.namespace, MOST_NAMESPACE_CHARACTERS)
    _check_name("urn of the transform", request.transform.spec.urn, MOST_NAME_CHARACTERS)
    for name, entries in _maps_of(request):
        _check_count(name, len(entries), MOST_COMPONENTS)
        _check_names(name, entries)
    coders = request.components.coders.values()
    _check_count("coder components", sum(len(one.component_coder_ids) for one in coders), MOST_COMPONENTS)
    _check_count("requirements", len(request.requirements), MOST_COMPONENTS)
    _check_names("requirements", request.requirements)


def check_configuration_size(row: bytes) -> None:
    """Checks how large an encoded configuration is.

    Raises:
        RequestRefused: It is too large.
    """
    if len(row) > MOST_CONFIGURATION_BYTES:
        raise RequestRefused(
            f"the configuration has {len(row)} bytes, at most {MOST_CONFIGURATION_BYTES} are allowed; "
            "put large ensemble files where the service can read them, and name them in spec_uri"
        )


def _maps_of(request: beam_expansion_api_pb2.ExpansionRequest) -> Iterable[tuple[str, Mapping[str, Any]]]:
    yield "inputs", request.transform.inputs
    yield "outputs", request.transform.outputs
    for field in beam_runner_api_pb2.Components.DESCRIPTOR.fields:
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            yield field.name.replace("_", " "), getattr(request.components, field.name)


def _check_count(name: str, count: int, most: int) -> None:
    if count > most:
        raise RequestRefused(f"the request has {count} {name}, at most {most} are allowed")


def _check_names(name: str, entries: Iterable[str]) -> None:
    for entry in entries:
        _check_name(f"id among the {name}", entry, MOST_NAME_CHARACTERS)


def _check_name(name: str, text: str, most: int) -> None:
    if len(text) > most:
        raise RequestRefused(
            f"the {name} '{shortened(text, 40)}' is too long, at most {most} characters are allowed"
        )
