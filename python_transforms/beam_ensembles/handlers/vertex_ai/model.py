"""Models deployed to an endpoint of Vertex AI, through Beam's own handler."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from beam_ensembles.files.ensemble_files import FileProblem
from beam_ensembles.graph.kinds import ROWS_OF_A_CALL, CheckedNode, Kind, Member, NodeView, Work
from beam_ensembles.graph.options import option
from beam_ensembles.graph.output_ports import settle
from beam_ensembles.graph.shared_options import LabelOptions
from beam_ensembles.handlers.remote.limit_options import RateOptions
from beam_ensembles.handlers.support.arguments import list_argument
from beam_ensembles.handlers.support.beam_config import (
    Accepted,
    ArgumentOptions,
    AttemptOptions,
    BatchOptions,
    ConfigOptions,
    check_config,
)
from beam_ensembles.handlers.support.remote_config import REMOTE_HONOURED, REMOTE_REFUSED
from beam_ensembles.types import Type

_ENDPOINT: Final = re.compile(r"\d+|projects/[^/]+/locations/[^/]+/endpoints/\d+")
_PROJECT: Final = re.compile(r"[a-z0-9][a-z0-9.:-]*")
_LOCATION: Final = re.compile(r"[a-z]+(-[a-z]+\d+)?")
_NETWORK: Final = re.compile(r"projects/[^/]+/global/networks/[^/]+")
_ROUTE: Final = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~:@-]+)+/?")
"""Without ``..``, which would lead to other endpoints of its host, with the worker's credentials."""


class VertexAIOptions(
    RateOptions, ArgumentOptions, ConfigOptions, BatchOptions, LabelOptions, AttemptOptions
):
    """What an endpoint takes."""

    endpoint: str = option(
        "", "The endpoint: its number, or projects/P/locations/L/endpoints/NUMBER.", required=True
    )
    project: str = option("", "The Google Cloud project of the endpoint.", required=True)
    location: str = option("", "The region of the endpoint, such as us-central1.", required=True)
    private: bool = option(
        False, "Whether the endpoint is reached within a network, which config.network then names."
    )


CONFIG_HONOURED: Final = {
    **REMOTE_HONOURED,
    "experiment": Accepted("the name of an experiment", lambda value: isinstance(value, str) and bool(value)),
    "network": Accepted(
        "projects/NUMBER/global/networks/NAME",
        lambda value: isinstance(value, str) and _NETWORK.fullmatch(value) is not None,
    ),
    "invoke_route": Accepted(
        "a path such as /v1/sum, without '..' and '?'",
        lambda value: isinstance(value, str) and _ROUTE.fullmatch(value) is not None,
    ),
}
CONFIG_REFUSED: Final = {
    **REMOTE_REFUSED,
    "endpoint_id": "the node's 'endpoint' says it",
    **dict.fromkeys(("project", "location", "private"), "it is a key of the node itself"),
}


class VertexAIKind(Kind[VertexAIOptions]):
    """Calls an endpoint through Beam's ``VertexAIModelHandlerJSON``, with its retries and its throttling.

    Each row is one instance, all rows of a batch are one request. A list in ``inputs`` makes an instance of the values
    themselves (numbers are joined to a list), a mapping makes an object with a member per port; bytes are written as
    ``{"b64": ...}``. A prediction that is an object gives its members by name, any other is the only output. Output
    types are declared, since an endpoint does not say them; whole numbers, which Vertex AI sends as doubles, become
    whole again.
    """

    kind = "model"
    name = "vertex_ai"
    summary = "Calls an endpoint of Google's Vertex AI."
    takes = (
        "Each row is an instance: a list of columns its values, numbers joined to one list; a mapping, "
        "{member: column}, an object. Bytes are written {b64: text}."
    )
    gives = "The members of a prediction that is an object, by name; any other prediction is the only output."
    extra = "vertex_ai"
    modules = ("google.cloud.aiplatform", "vertexai")  # of one distribution
    work = Work.ELSEWHERE
    call_rows = ROWS_OF_A_CALL
    options = VertexAIOptions

    def check(self, node: NodeView[VertexAIOptions]) -> Mapping[str, Type | None]:
        """Checks what the node says; nobody is asked, since an endpoint does not say what it takes and gives."""
        _check_names(node)
        _check_host(node)
        check_config(node, CONFIG_HONOURED, CONFIG_REFUSED)
        if node.spec.inputs is not None and node.spec.inputs.ports is None and len(node.spec.columns) > 1:
            list_argument(node)
        if node.options.private and "network" not in node.options.config:
            node.problem(
                "missing_key", "config.network", "a private endpoint needs the network that it is in"
            )
        if node.options.private and node.options.timeout is not None:
            node.problem(
                "unsupported_option", "timeout", "calls of a private endpoint cannot be timed; leave it out"
            )
        return settle(node, "signature_mismatch", {})

    def load(self, node: CheckedNode[VertexAIOptions]) -> Member:
        """Connects to the endpoint, which must have a model deployed."""
        from beam_ensembles.handlers.vertex_ai.member import load_endpoint

        return load_endpoint(node)


def _check_names(node: NodeView[VertexAIOptions]) -> None:
    options = node.options
    forms = {
        "endpoint": (options.endpoint, _ENDPOINT, "a number, or projects/P/locations/L/endpoints/NUMBER"),
        "project": (options.project, _PROJECT, "a project's id, such as my-project"),
        "location": (options.location, _LOCATION, "a region, such as us-central1"),
    }
    for key, (value, form, accepts) in forms.items():
        if form.fullmatch(value) is None:
            node.problem("bad_value", key, f"'{key}' is {value!r}; allowed: {accepts}")


def _check_host(node: NodeView[VertexAIOptions]) -> None:
    location = node.options.location
    if _LOCATION.fullmatch(location) is None:
        return
    try:
        node.files.check_host(f"https://{location}-aiplatform.googleapis.com")
    except FileProblem as problem:
        node.problem(problem.code, "location", str(problem))
