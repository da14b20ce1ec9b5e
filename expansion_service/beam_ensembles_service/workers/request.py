"""Check a runner's request for a worker."""

from __future__ import annotations

import re
from typing import Final

from apache_beam.portability.api import beam_fn_api_pb2

from beam_ensembles.messages.printable import printable, shortened

_MAX_ID: Final = 1_000
_ENDPOINT: Final = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._-]{0,252}|\[[0-9A-Fa-f:.]{2,45}\]):([0-9]{1,5})")
_MAX_PORT: Final = 65_535


class NotStartedError(Exception):
    """A worker cannot be started; the message is one sentence."""


def check_start(request: beam_fn_api_pb2.StartWorkerRequest) -> None:
    """Check the parts of a request that reach a worker's command line, environment and log lines.

    Raises:
        NotStartedError: The id or an endpoint is invalid.
    """
    name = request.worker_id
    if len(name) > _MAX_ID or printable(name) != name:
        raise NotStartedError(f"a worker's id must be at most {_MAX_ID:,} printable characters")
    if not request.control_endpoint.url:
        raise NotStartedError("the request names no control endpoint")
    for kind in ("control", "logging", "provision", "artifact"):
        url = getattr(request, f"{kind}_endpoint").url
        match = _ENDPOINT.fullmatch(url)
        if url and (match is None or int(match[1]) > _MAX_PORT):
            raise NotStartedError(f"the {kind} endpoint must be HOST:PORT, not '{shortened(url)}'")
