"""What a failed call of OpenAI's interface means: that it may pass, that no call will do, or that the row was bad."""

from __future__ import annotations

from typing import Final

import openai

from beam_ensembles.errors import BatchFailed, NodeError
from beam_ensembles.handlers.openai_interface.client import Server
from beam_ensembles.handlers.support.waits import LONGEST_ASKED, asked_wait
from beam_ensembles.messages.foreign_errors import described, text_of

_PASSING: Final = (
    openai.APIConnectionError,
    openai.RateLimitError,
    openai.ConflictError,
    openai.InternalServerError,
)
_REFUSED: Final = (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError)
_REQUEST_TIMEOUT: Final = 408
_FIRST_ERROR: Final = 400
_SPENT: Final = "insufficient_quota"
"""The code with which a server says 429 because the account has no money left."""


def may_pass(error: BaseException) -> bool:
    """Whether the same call may go well the next time: 408, 409, 429, 5xx, timeouts, broken connections."""
    if isinstance(error, openai.RateLimitError) and error.code == _SPENT:
        return False
    if (asked := wait_asked(error)) is not None and asked > LONGEST_ASKED:
        return False
    return _is_passing(error)


def has_no_room(error: BaseException) -> bool:
    """Whether the server says that it is asked too much."""
    return isinstance(error, openai.RateLimitError)


def wait_asked(error: BaseException) -> float | None:
    """Returns the seconds that the server asks to wait for."""
    return asked_wait(error.response.headers) if isinstance(error, openai.APIStatusError) else None


def failure(error: BaseException, server: Server) -> NodeError:
    """Returns what a failed call means for its row, or for all rows (``BatchFailed``).

    Args:
        error: What the client raised.
        server: How the server is called.
    """
    if _is_passing(error):
        asked = wait_asked(error)
        later = (
            f" (it asks to wait for {asked:,.0f} s)" if asked is not None and asked > LONGEST_ASKED else ""
        )
        return BatchFailed("server_unreachable", f"{server.url} does not answer: {_said(error)}{later}")
    status = getattr(error, "status_code", _FIRST_ERROR)
    if isinstance(error, _REFUSED) or status < _FIRST_ERROR:
        return BatchFailed("server_refused", f"{server.url} refuses the call: {_said(error)}")
    if isinstance(error, openai.APIStatusError):
        return NodeError("model_error", f"{server.url} refuses the request: {_said(error)}")
    return NodeError("bad_output", f"{server.url}: {_said(error)}")


def _is_passing(error: BaseException) -> bool:
    return isinstance(error, _PASSING) or getattr(error, "status_code", 0) == _REQUEST_TIMEOUT


def _said(error: BaseException) -> str:
    if isinstance(error, RecursionError):
        return "the answer is nested too deep"
    if isinstance(error, openai.APIStatusError):
        return f"{error.status_code} {text_of(error)}"
    cause = error.__cause__
    return described(cause) if isinstance(cause, Exception) else text_of(error)
