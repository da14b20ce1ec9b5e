"""The calls of a node on a worker, with its secrets."""

from __future__ import annotations

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.graph.secrets import revealed
from beam_ensembles.handlers.openai_interface.calls import Calls
from beam_ensembles.handlers.openai_interface.client import Server
from beam_ensembles.handlers.openai_interface.options import ServerOptions
from beam_ensembles.handlers.openai_interface.spending import Limits
from beam_ensembles.handlers.remote.limit_options import budget_of, price_of, quota_of
from beam_ensembles.handlers.support.request_headers import is_header, revealed_headers


def calls_of(node: CheckedNode[ServerOptions], answer: int | None = None) -> Calls:
    """Returns what makes the calls of a node; nobody is called yet.

    Args:
        node: The node, which was checked.
        answer: The most tokens of an answer, where they are known.

    Raises:
        InvalidEnsemble: A secret is not on this worker, or cannot be a header.
    """
    options = node.options
    key = revealed(node, "api_key", options.api_key) if options.api_key is not None else ""
    if not is_header(key):
        text = "the secret has other characters than printable ones of ASCII"
        raise InvalidEnsemble([Problem(node.spec.path("api_key"), "load_failed", text)])
    server = Server(
        url=options.url,
        key=key,
        headers=revealed_headers(node, options.config.get("headers") or {}),
        seconds=options.timeout,
        retries=options.retries,
        concurrency=options.concurrency,
    )
    place = (options.url, options.name)
    budget = budget_of(options, *place, node.namespace)
    return Calls(server, Limits(quota_of(options, *place), budget, price_of(options), answer))
