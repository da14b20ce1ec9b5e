"""What SQLAlchemy raises, as the errors of a node."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy import exc

from beam_ensembles.errors import BatchFailed, EnsembleError, NodeError
from beam_ensembles.functions.lookup.engine import Connections, without_secrets
from beam_ensembles.messages.foreign_errors import described, quoted


class Unreachable(BatchFailed):
    """The database did not answer; it may the next time."""


@contextlib.contextmanager
def failures(database: Connections) -> Iterator[None]:
    """Creates of what SQLAlchemy raises the errors of a node: with the driver's words, without the query or a password.

    Ends queries whose answer takes too long or is too large.

    Raises:
        NodeError: ``server_unreachable`` (``Unreachable``), ``server_refused`` (``BatchFailed``), ``model_error``,
            which may be due to a row, or ``bad_output``: a driver cannot read the answer.
    """
    with database.guard.watch() as watch:
        try:
            yield
        except (EnsembleError, MemoryError):
            raise
        except exc.SQLAlchemyError as error:
            if watch.said:
                raise Unreachable(
                    "server_unreachable", f"the database's answer is not read: {watch.said}"
                ) from None
            raise _failure(error, database.engine) from None
        except Exception as error:  # a driver's, or SQLAlchemy's, of an answer that makes no sense
            text = without_secrets(described(error), database.engine)
            raise NodeError("bad_output", f"the database's answer cannot be read: {text}") from None


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
