"""What SQLAlchemy raises, as the errors of a node."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy import exc

from beam_ensembles.errors import BatchFailed, NodeError
from beam_ensembles.functions.lookup.engine import without_secrets
from beam_ensembles.messages.foreign_errors import quoted


class Unreachable(BatchFailed):
    """The database did not answer; it may the next time."""


@contextlib.contextmanager
def failures(engine: sa.Engine) -> Iterator[None]:
    """Creates of what SQLAlchemy raises the errors of a node: with the driver's words, without the query or a password.

    Raises:
        NodeError: ``server_unreachable`` (``Unreachable``), ``server_refused`` (``BatchFailed``), or ``model_error``,
            which may be due to a row.
    """
    try:
        yield
    except exc.SQLAlchemyError as error:
        raise _failure(error, engine) from None


def _failure(error: exc.SQLAlchemyError, engine: sa.Engine) -> NodeError:
    cause: BaseException = error
    if isinstance(error, exc.DBAPIError) and error.orig is not None:
        cause = error.orig
    text = f"{type(cause).__name__}: {quoted(without_secrets(str(cause), engine))}"
    is_gone = isinstance(error, exc.DBAPIError) and error.connection_invalidated
    if is_gone or isinstance(error, exc.OperationalError | exc.InterfaceError | exc.TimeoutError):
        return Unreachable("server_unreachable", f"the database does not answer: {text}")
    if isinstance(error, exc.ProgrammingError):
        return BatchFailed("server_refused", f"the database refuses the query: {text}")
    return NodeError("model_error", f"the database refuses the query: {text}")
