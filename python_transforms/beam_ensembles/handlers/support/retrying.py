"""Calls of servers that are made again while their failure may pass."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any, Final

import grpc
from apache_beam.utils import retry

from beam_ensembles import logs
from beam_ensembles.handlers.support.call_counts import RETRIES, count
from beam_ensembles.handlers.support.waits import FIRST_WAIT, LONGEST_WAIT

_LOGGER: Final = logging.getLogger(__name__)
_STATUSES: Final = "|".join(status.name for status in grpc.StatusCode)
_WITHOUT_VALUES: Final = re.compile(rf"(?:\w+\.)*(\w+(?:: (?:{_STATUSES})(?=:|$))?)")
"""The type of an error and gRPC's status; what a server says after them may quote what it was sent."""


def tried_again(
    call: Callable[..., Any], retries: int, may_pass: Callable[[Exception], bool]
) -> Callable[..., Any]:
    """Returns a function that calls another one again while it fails in passing.

    Args:
        call: The call to make.
        retries: How often it is called again; after that its error is raised.
        may_pass: Says whether an error may be gone the next time.
    """
    decorate = retry.with_exponential_backoff(
        num_retries=retries,
        initial_delay_secs=FIRST_WAIT,
        max_delay_secs=LONGEST_WAIT,
        retry_filter=may_pass,
        logger=_log,
    )
    tried: Callable[..., Any] = decorate(call)
    return tried


def _log(_: str, seconds: float, call: str, error: str, trace: str) -> None:
    count(RETRIES)
    text = error.strip()
    said = _WITHOUT_VALUES.match(text)
    shown = said[1] if said and not logs.may_log_rows() else text
    _LOGGER.warning("trying again in %.1f s: %s", seconds, shown)
