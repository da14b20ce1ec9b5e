"""Which handlers an ensemble may name without anybody vouching for them, and what it may tell those.

Beam's own handlers of remote and served models are allowed by default. Those of its handlers that load files are not:
each has a kind of its own here, which knows what its files may do. A handler that the service was told to allow, and
any handler of somebody who runs a file of his own, may be told anything.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Set
from typing import Final

from beam_ensembles.errors import listed, nearest
from beam_ensembles.files.ensemble_files import FileProblem
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.handlers.python.options import PythonOptions
from beam_ensembles.handlers.support.importing import check_import, is_vouched_for
from beam_ensembles.spec.places import below

_BEAM: Final = "apache_beam.ml.inference"
_OF_ALL: Final = frozenset(("large_model", "max_batch_size", "model_copies"))
_VLLM_SERVER: Final = frozenset(
    (
        "disable-log-requests", "dtype", "enable-prefix-caching", "enforce-eager", "gpu-memory-utilization",
        "kv-cache-dtype", "max-model-len", "max-num-batched-tokens", "max-num-seqs", "pipeline-parallel-size",
        "quantization", "revision", "seed", "served-model-name", "swap-space", "tensor-parallel-size",
    )
)  # fmt: skip
"""Arguments of vLLM's server that load no code and open no door."""


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """One of Beam's handlers that is allowed by default.

    Attributes:
        arguments: What its constructor may be told.
        functions: Those of its arguments that are functions; only of its own module.
        server: What its server may be told.
        host: The host that it calls or loads models from, which must be allowed as for other nodes.
        host_of_projects: That of the same with the worker's own account in a project.
    """

    arguments: Set[str]
    functions: Set[str] = frozenset()
    server: Set[str] = frozenset()
    host: str = ""
    host_of_projects: str = ""


_VLLM: Final = Known(
    frozenset(("model_name", "vllm_server_kwargs")), server=_VLLM_SERVER, host="huggingface.co"
)
KNOWN: Final[Mapping[str, Known]] = {
    f"{_BEAM}.anthropic_inference.AnthropicModelHandler": Known(
        frozenset(("api_key", "model_name", "output_config", "system")),
        frozenset(("request_fn",)),
        host="api.anthropic.com",
    ),
    f"{_BEAM}.gemini_inference.GeminiModelHandler": Known(
        frozenset(("api_key", "location", "model_name", "project", "use_vertex_flex_api")),
        frozenset(("request_fn",)),
        host="generativelanguage.googleapis.com",
        host_of_projects="aiplatform.googleapis.com",
    ),
    f"{_BEAM}.vllm_inference.VLLMChatModelHandler": _VLLM,
    f"{_BEAM}.vllm_inference.VLLMCompletionsModelHandler": _VLLM,
}
"""The handlers that are allowed by default."""
OWN_KINDS: Final = (
    "huggingface", "onnx", "pytorch", "sklearn", "tensorflow", "tensorrt", "vertex_ai", "xgboost",
)  # fmt: skip
"""The kinds of node that stand for the other handlers of Beam, in the module ``<kind>_inference``."""


def check_policy(node: NodeView[PythonOptions], name: str, functions: Mapping[str, str]) -> None:
    """Reports code that is only allowed by default and may not be used here, or not be told what it is told.

    Args:
        node: The node.
        name: The handler's dotted name.
        functions: The dotted names of the node's functions, by their places.
    """
    known = KNOWN.get(name)
    for place, function in functions.items():
        check_import(node, place, function, library=_own_functions(known, name, place))
    if known is not None and not is_vouched_for(node.files, name):
        _check_told(node, name, known)
    elif known is None and name.startswith(f"{_BEAM}.") and not is_vouched_for(node.files, name):
        _refuse_beams(node, name)
    elif known is None:
        check_import(node, "handler", name, library=())


def _own_functions(known: Known | None, name: str, place: str) -> list[str]:
    """Returns the functions that a known handler has in its own module to be given at a place."""
    places = [] if known is None else [below("functions", argument) for argument in known.functions]
    return [f"{name.rpartition('.')[0]}.*"] if place in places else []


def _refuse_beams(node: NodeView[PythonOptions], name: str) -> None:
    kind = next((kind for kind in OWN_KINDS if name.startswith(f"{_BEAM}.{kind}_inference.")), None)
    instead = f"; write 'model: {kind}' instead, or" if kind else f"{nearest(name, KNOWN)};"
    text = f"'{name}' is not among the handlers that need no leave (they are: {listed(list(KNOWN))})"
    node.problem(
        "untrusted_code",
        "handler",
        f"{text}{instead} allow it when starting the service: --allow-code '{name}'",
    )


def _check_told(node: NodeView[PythonOptions], name: str, known: Known) -> None:
    allow = f"allow it when starting the service: --allow-code '{name}'"
    for argument in node.options.config:
        if argument not in known.arguments | _OF_ALL:
            text = f"'{argument}' may be told only to a handler that is vouched for"
            allowed = listed(sorted(known.arguments | _OF_ALL))
            node.problem("untrusted_code", below("config", argument), f"{text} (without: {allowed}); {allow}")
    _check_server(node, known, allow)
    _check_reach(node, known)
    if node.spec.file is not None:
        text = "this handler takes no file; set 'model_name' in 'config'"
        node.problem("unsupported_option", "uri", text)


def _check_server(node: NodeView[PythonOptions], known: Known, allow: str) -> None:
    told = node.options.config.get("vllm_server_kwargs")
    if told is None or "vllm_server_kwargs" not in known.arguments:
        return
    place = below("config", "vllm_server_kwargs")
    if not isinstance(told, Mapping):
        node.problem("wrong_type", place, "'vllm_server_kwargs' must be a mapping of texts")
        return
    for argument, value in told.items():
        if value is not None and str(value).startswith("-"):
            text = f"'{value}' would be an argument of its own, not the value of '{argument}'"
            node.problem("bad_value", below(place, str(argument)), text)
        if argument not in known.server:
            text = f"'{argument}' may be told only to a server that is vouched for"
            allowed = listed(sorted(known.server), 20)
            node.problem(
                "untrusted_code", below(place, str(argument)), f"{text} (without: {allowed}); {allow}"
            )


def _check_reach(node: NodeView[PythonOptions], known: Known) -> None:
    """Reports a host that nobody allowed, or a model on this machine in no trusted folder."""
    told = node.options.config
    name = str(told.get("model_name", ""))
    if known.server and (os.path.isabs(name) or name.startswith((".", "~", "-"))):
        if not os.path.isabs(name) or not node.files.is_trusted(name):
            text = (
                f"'{name}' is not a model of the hub, and is in no trusted folder (start with --trust FOLDER)"
            )
            node.problem("untrusted_file", below("config", "model_name"), text)
        return
    by_project = known.host_of_projects and told.get("project") is not None
    try:
        node.files.check_host(f"https://{known.host_of_projects if by_project else known.host}")
    except FileProblem as problem:
        node.problem(problem.code, "handler", str(problem))
