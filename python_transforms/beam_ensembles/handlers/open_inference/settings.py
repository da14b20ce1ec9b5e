"""What a node of a served model may say in its ``config``, and what holds where it says nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.graph.options import option
from beam_ensembles.graph.shared_options import LabelOptions, SampleOptions
from beam_ensembles.handlers.open_inference.address import CERTIFICATES, Address
from beam_ensembles.handlers.open_inference.address import FORM as ADDRESS
from beam_ensembles.handlers.remote.limit_options import RateOptions
from beam_ensembles.handlers.support import member
from beam_ensembles.handlers.support.beam_config import (
    Accepted,
    ArgumentOptions,
    AttemptOptions,
    BatchOptions,
    ConfigOptions,
    check_config,
)
from beam_ensembles.handlers.support.remote_config import REMOTE_HONOURED, REMOTE_REFUSED
from beam_ensembles.handlers.support.request_headers import HEADERS, check_headers, revealed_headers
from beam_ensembles.spec.places import below

DEFAULT_SECONDS: Final = 60.0
DEFAULT_RETRIES: Final = 3
_MOST_SECONDS: Final = 86_400.0
_PARAMETER: Final = (str, bool, int, float)


class OpenInferenceOptions(
    RateOptions, ArgumentOptions, ConfigOptions, SampleOptions, BatchOptions, LabelOptions, AttemptOptions
):
    """What a model on a server takes."""

    uri: str = option("", f"The model on its server: {ADDRESS}.", required=True)
    timeout: float = option(DEFAULT_SECONDS, "Seconds that one call of the server may take.", last=True)
    retries: int = option(
        DEFAULT_RETRIES,
        "How often a call that the server did not answer, or had no room for, is made again.",
        last=True,
    )
    config: Mapping[str, Any] = option(
        {},
        "How the server is called: headers, certificates for TLS, compression, throttling.",
        last=True,
    )
    inference_args: Mapping[str, Any] = option(
        {}, "Parameters of each request, as the protocol has them.", last=True
    )


_FILE: Final = Accepted(
    "the absolute path of a file in PEM on the workers", lambda value: isinstance(value, str)
)
_HONOURED: Final = {
    **REMOTE_HONOURED,
    "headers": HEADERS,
    "compression": Accepted("gzip or deflate", lambda value: value in ("gzip", "deflate")),
    **dict.fromkeys(CERTIFICATES, _FILE),
}


def check_settings(node: NodeView[OpenInferenceOptions], address: Address | None) -> None:
    """Reports what is wrong with a node's ``config`` and ``inference_args``.

    Args:
        node: The node.
        address: Its model, or None where its ``uri`` is wrong.
    """
    check_config(node, _HONOURED, REMOTE_REFUSED)
    config = node.options.config
    check_headers(node)
    for key in CERTIFICATES:
        if isinstance(config.get(key), str):
            _check_certificate(node, key, config[key], address)
    if ("private_key" in config) != ("certificate_chain" in config):
        text = "'private_key' and 'certificate_chain' go together"
        node.problem("bad_value", "config", text)
    for name, value in node.options.inference_args.items():
        if not isinstance(value, _PARAMETER):
            text = f"'{name}' is {value!r}; a parameter of a request is a text, a number, true or false"
            node.problem("bad_value", below("inference_args", name), text)


def revealed_config(node: CheckedNode[OpenInferenceOptions]) -> dict[str, Any]:
    """Returns a node's ``config`` on a worker, with the secrets in its headers.

    Raises:
        InvalidEnsemble: A secret is not there (``missing_secret``), or cannot be a header (``load_failed``).
    """
    config = member.config(node)
    return {**config, "headers": revealed_headers(node, config.get("headers") or {})}


def _check_certificate(
    node: NodeView[OpenInferenceOptions], key: str, path: str, address: Address | None
) -> None:
    place = below("config", key)
    if address is not None and not address.is_encrypted:
        node.problem("bad_value", place, f"'{key}' is for TLS; write grpcs:// in 'uri'")
    elif not os.path.isabs(path):
        node.problem("bad_value", place, f"'{key}' is {path!r}; allowed: {_FILE.accepts}")
    elif not node.files.is_trusted(path):
        text = f"'{path}' is not trusted; trust its folder (start with --trust FOLDER)"
        node.problem("untrusted_file", place, text)


def seconds_of(options: OpenInferenceOptions) -> float:
    """Returns how long one call of a node with these options may take."""
    return min(float(options.timeout), _MOST_SECONDS)
