"""What a failed call means: that it is worth another try, that no call will do, or that the request was bad."""

from __future__ import annotations

from typing import Final

from beam_ensembles.errors import BatchFailed, NodeError
from beam_ensembles.handlers.open_inference.address import Address
from beam_ensembles.messages.foreign_errors import quoted

UNAVAILABLE: Final = "UNAVAILABLE"
_PASSING: Final = frozenset(
    # A server in Python that is being ended cancels the calls at work.
    (UNAVAILABLE, "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED", "CANCELLED")
)
_REFUSED: Final = frozenset(("NOT_FOUND", "PERMISSION_DENIED", "UNAUTHENTICATED", "UNIMPLEMENTED"))
_TOO_LARGE: Final = ("larger than max", "exceeds maximum size")
"""What gRPC's servers say, those in Java in other words than the rest."""


class CallError(Exception):
    """A call failed.

    Args:
        status: gRPC's status, such as ``UNAVAILABLE``.
        message: What the server, or gRPC, says.
    """

    def __init__(self, status: str, message: str) -> None:
        self.status = status
        self.message = quoted(message)
        super().__init__(f"{status}: {self.message}")

    @property
    def may_pass(self) -> bool:
        """Whether the same call may go well the next time.

        What is too large for the server has the same status as a server that has too much to do, but will not pass.
        """
        return self.status in _PASSING and not any(words in self.message for words in _TOO_LARGE)

    @property
    def is_any_calls(self) -> bool:
        """Whether every call will fail so, whatever rows it holds."""
        return self.status in _REFUSED


def unusable(address: Address, error: CallError) -> BatchFailed:
    """Returns the error of all rows of a batch where the server cannot be used at all."""
    text = f"{address}: {error}"
    return BatchFailed("server_unreachable", text) if error.may_pass else BatchFailed("server_refused", text)


def failure(address: Address, error: CallError) -> NodeError:
    """Returns the error of the rows of a call that failed and is not made again.

    Args:
        address: The model.
        error: Why.

    Returns:
        ``server_unreachable`` or ``server_refused`` for all rows together; ``model_error`` for what may be due to one
        of them, to be found by splitting.
    """
    if error.may_pass or error.is_any_calls:
        return unusable(address, error)
    return NodeError("model_error", f"{address}: {error}")
