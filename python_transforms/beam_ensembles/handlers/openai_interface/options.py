"""The options of a model behind OpenAI's interface, and their checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from beam_ensembles.files.ensemble_files import FileProblem
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.graph.options import Mistake, option
from beam_ensembles.graph.secrets import check_secret
from beam_ensembles.handlers.remote.limit_options import SpendingOptions
from beam_ensembles.handlers.support.beam_config import (
    Accepted,
    ArgumentOptions,
    AttemptOptions,
    BatchOptions,
    ConfigOptions,
    check_config,
)
from beam_ensembles.handlers.support.request_headers import HEADERS, check_headers
from beam_ensembles.spec.places import below
from beam_ensembles.spec.secrets import FORM as SECRET
from beam_ensembles.spec.secrets import is_secret
from beam_ensembles.types import BYTES

_ROUNDS: Final = 64
"""Calls of a batch for each that is under way at one time. Where calls differ in length, as those of language models
do, the last ones of a batch cost about three of them."""
_MOST_ROWS: Final = 8_192
"""Rows of a batch, at most: they and their answers are in memory together."""
_HONOURED: Final[Mapping[str, Accepted]] = {"headers": HEADERS}


class ServerOptions(SpendingOptions, ArgumentOptions, ConfigOptions, BatchOptions, AttemptOptions):
    """Where a model is, and how it is called."""

    url: str = option("", "The server's base address, such as https://api.openai.com/v1.", required=True)
    name: str = option("", "The model's name on the server.", required=True)
    api_key: Any = option(None, "The caller's key, which only workers know.", accepts="string or secret")
    concurrency: int = option(8, "How many calls each worker process makes at one time.", least=1, most=256)
    timeout: float = option(60.0, "Seconds that one attempt of a call may take.", last=True)
    retries: int = option(
        3, "How often a call that the server did not answer, or had no room for, is made again.", last=True
    )
    config: Mapping[str, Any] = option({}, "How the server is called: headers.", last=True)
    inference_args: Mapping[str, Any] = option(
        {}, "Further members of each request, as the server has them.", last=True
    )

    def mistakes(self) -> Iterator[Mistake]:
        """Finds an address that is not one of a server, and arguments that other keys say."""
        yield from super().mistakes()
        if fault := _fault_of(self.url):
            yield Mistake("url", "bad_value", f"'{self.url}' {fault}; expected https://HOST/v1")
        for name in self.inference_args:
            if name in self.own_arguments():
                text = (
                    f"'{name}' cannot be among the arguments: other keys of the node say it, or it is fixed"
                )
                yield Mistake(below("inference_args", name), "unsupported_option", text)

    @staticmethod
    def own_arguments() -> Sequence[str]:
        """Returns the members of a request that other keys say, or that the answers depend on."""
        return ()


def rows_of_rounds(node: CheckedNode[ServerOptions], rows_of_a_call: int = 1) -> int:
    """Returns the rows of a batch whose calls seldom wait for its slowest ones: the next batch begins after those.

    Rows with pictures are large; theirs stay as they are.

    Args:
        node: The node.
        rows_of_a_call: How many rows one call has.
    """
    if any(type_.required() == BYTES for type_ in node.inputs.values()):
        return 1
    return min(_ROUNDS * node.options.concurrency * rows_of_a_call, _MOST_ROWS)


def check_server(node: NodeView[ServerOptions]) -> None:
    """Reports a server that may not be called, a key that is not a secret, and a ``config`` that it does not take."""
    check_config(node, _HONOURED, {})
    check_headers(node)
    options = node.options
    if options.url and "url" not in node.wrong:
        try:
            node.files.check_host(options.url)
        except FileProblem as problem:
            node.problem(problem.code, "url", str(problem))
    if options.api_key is None or "api_key" in node.wrong:
        return
    if is_secret(options.api_key):
        check_secret(node, "api_key", options.api_key)
    else:
        text = "'api_key' is a secret, which everybody could read in the pipeline's description"
        node.problem("bad_value", "api_key", f"{text}; say where workers find it: {SECRET}")


def _fault_of(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        return f"is not an address ({error})"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "is not an address of the web"
    if parts.query or parts.fragment or "@" in parts.netloc:
        return "has a query, a fragment or a user"
    return ""
