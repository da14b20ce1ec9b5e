"""Headers of requests to a server: texts, and secrets that only workers know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.graph.secrets import check_secret, revealed
from beam_ensembles.handlers.support.beam_config import Accepted, ConfigOptions
from beam_ensembles.spec.places import below
from beam_ensembles.spec.secrets import FORM, is_secret

_SECRET: Final = ("authorization", "proxy-authorization", "cookie", "api-key", "x-api-key")
_OF_THE_CONNECTION: Final = (
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
)
"""Headers that say which server behind an address is meant, and where a request ends."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]+")
_PLACE: Final = below("config", "headers")


def is_header(value: Any) -> bool:
    """Whether a value can be a header."""
    return isinstance(value, str) and value.isprintable() and value.isascii()


def are_headers(value: Any) -> bool:
    """Whether a value is a mapping of names to texts or secrets."""
    return isinstance(value, Mapping) and all(
        isinstance(name, str)
        and _NAME.fullmatch(name) is not None
        and not name.lower().startswith("grpc-")
        and not name.lower().endswith("-bin")
        and (is_header(text) or is_secret(text))
        for name, text in value.items()
    )


HEADERS: Final = Accepted(
    "a mapping of names to texts of ASCII or secrets, sent with every call", are_headers
)


def check_headers(node: NodeView[ConfigOptions]) -> None:
    """Reports what is wrong with a node's ``config.headers``.

    Secrets must be written as such, and allowed. A header that names another server behind an allowed host would lead
    to one that nobody allowed.
    """
    headers = node.options.config.get("headers", {})
    if not are_headers(headers):
        return
    for name, value in headers.items():
        place = below(_PLACE, name)
        check_secret(node, place, value)
        if name.lower() in _OF_THE_CONNECTION:
            text = f"'{name}' is sent as the node's address and the request need it; leave it out"
            node.problem("unsupported_option", place, text)
        if name.lower() in _SECRET and not is_secret(value):
            text = f"'{name}' holds a secret, which everybody could read in the pipeline's description"
            node.problem("bad_value", place, f"{text}; say where workers find it: {FORM}")


def has_secrets(config: Mapping[str, Any]) -> bool:
    """Whether some header of a node's ``config`` is a secret."""
    return any(is_secret(value) for value in (config.get("headers") or {}).values())


def revealed_headers(node: CheckedNode, headers: Mapping[str, Any]) -> dict[str, str]:
    """Returns headers on a worker, with the secrets in them.

    Raises:
        InvalidEnsemble: A secret is not there (``missing_secret``), or cannot be a header (``load_failed``).
    """
    found = {}
    for name, value in headers.items():
        place = below(_PLACE, name)
        found[name] = revealed(node, place, value)
        if not is_header(found[name]):
            text = f"the secret that is the header '{name}' has other characters than printable ones of ASCII"
            raise InvalidEnsemble([Problem(node.spec.path(place), "load_failed", text)])
    return found
