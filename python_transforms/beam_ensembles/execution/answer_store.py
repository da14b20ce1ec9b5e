"""Answers in a database: SQLite or PostgreSQL, through SQLAlchemy. Whatever fails there costs answers, no rows."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.functions.lookup.engine import Connections, Database, make_connections, without_secrets
from beam_ensembles.graph.database_urls import WRITTEN, is_sqlite, sqlite_file
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.support.cache_options import URI
from beam_ensembles.messages.foreign_errors import quoted
from beam_ensembles.spec.secrets import is_secret

_LOGGER: Final = logging.getLogger(__name__)
_SECONDS: Final = 10.0
"""How long a query may take, and how long a process that ends waits for what is not written yet."""
_TOGETHER: Final = 500
"""Answers that are read or written by one statement."""
_WAITING: Final = 100_000
"""Answers that wait to be written; more are not kept."""
_PAUSE: Final = 0.05
"""Seconds in which answers come together before they are written."""
_QUIET: Final = 60.0
"""Seconds between two warnings; also how long a database that failed is left alone."""
_TABLE: Final = sa.Table(
    "beam_ensembles_answers",
    sa.MetaData(),
    sa.Column("key", sa.LargeBinary(32), primary_key=True),
    sa.Column("made", sa.Double, nullable=False, index=True),
    sa.Column("answer", sa.Text, nullable=False),
)


class AnswerStore:
    """Keeps answers by the keys of their rows; threads may share it.

    Answers are written by a thread of its own, soon after they come. Nothing but the constructor raises: a database
    that fails is a warning, is counted, and is left alone for a while.

    Args:
        node: The node, which was checked.
        uri: The database.
        max_age: The seconds after which an answer is forgotten, or None.
        max_rows: How many answers the database may have, those of other nodes among them, or None.

    Raises:
        InvalidEnsemble: The database's driver is not installed, or its URL is none.
    """

    def __init__(self, node: CheckedNode, uri: Any, max_age: float | None, max_rows: int | None) -> None:
        self._database = _Answers(_connections_of(node, uri), max_age, max_rows)
        self._waiting: queue.Queue[tuple[bytes, float, str] | threading.Event | None] = queue.Queue(_WAITING)
        self._is_urgent = threading.Event()
        self._thread = threading.Thread(
            target=_write, args=(self._waiting, self._is_urgent, self._database), daemon=True, name="answers"
        )
        self._thread.start()
        self._end = weakref.finalize(self, _finish, self._waiting, self._thread, self._database)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Returns the answers that are kept and not too old, by their keys."""
        return self._database.read(keys)

    def put(self, answers: Mapping[bytes, str]) -> None:
        """Keeps answers; they are written soon."""
        now = time.time()
        for key, answer in answers.items():
            try:
                self._waiting.put_nowait((key, now, answer))
            except queue.Full:
                self.failed("more answers come than it can write")
                return

    def flush(self) -> None:
        """Waits until what came before is written, or the database has failed."""
        written = threading.Event()
        self._waiting.put(written)
        self._is_urgent.set()
        written.wait(_SECONDS)

    def close(self) -> None:
        """Writes what is not written yet, and ends."""
        self._end()

    def taken_errors(self) -> int:
        """Returns how often the database has failed since the last time."""
        return self._database.taken_errors()

    def failed(self, why: str) -> None:
        """Notes a failure, and warns of it unless that was just done."""
        self._database.failed(why)


class _Answers:
    """The table of answers.

    Args:
        connections: The database's connections.
        max_age: The seconds after which an answer is forgotten, or None.
        max_rows: How many answers there may be, or None.
    """

    def __init__(self, connections: Connections, max_age: float | None, max_rows: int | None) -> None:
        self.engine, self._guard = connections.engine, connections.guard
        self._max_age, self._max_rows = max_age, max_rows
        self._insert = _insert(self.engine)
        self._select = sa.select(_TABLE.c.key, _TABLE.c.answer).where(
            _TABLE.c.key.in_(sa.bindparam("keys", expanding=True)), _TABLE.c.made > sa.bindparam("oldest")
        )
        self._lock = threading.Lock()
        self._errors, self._failed_at, self._is_made = 0, float("-inf"), False

    def read(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Returns the answers that are there and not too old, by their keys."""
        oldest = 0.0 if self._max_age is None else time.time() - self._max_age
        found: dict[bytes, str] = {}
        with self._failures(), self._connected() as connection:
            for at in range(0, len(keys), _TOGETHER):
                some = {"keys": keys[at : at + _TOGETHER], "oldest": oldest}
                found.update((bytes(key), answer) for key, answer in connection.execute(self._select, some))
        return found

    def write(self, answers: Sequence[tuple[bytes, float, str]]) -> None:
        """Writes answers, and removes those that are too old or too many."""
        # In one order, so that workers that write the same ones do not wait for each other in a circle.
        rows = [
            {"key": key, "made": made, "answer": answer}
            for key, (made, answer) in sorted({key: rest for key, *rest in answers}.items())
        ]
        with self._failures(), self._connected() as connection:
            for at in range(0, len(rows), _TOGETHER):
                connection.execute(self._insert, rows[at : at + _TOGETHER])
            self._remove_old(connection)

    def taken_errors(self) -> int:
        """Returns how often it has failed since the last time."""
        with self._lock:
            errors, self._errors = self._errors, 0
        return errors

    def failed(self, why: str) -> None:
        """Notes a failure, and warns of it unless that was just done."""
        with self._lock:
            self._errors += 1
            now = time.monotonic()
            is_new, self._failed_at = now - self._failed_at > _QUIET, now
        if is_new:
            _LOGGER.warning("the cache of answers fails, so that the model is asked: %s", why)

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except _LeftAlone:
            with self._lock:
                self._errors += 1
        except Exception as error:  # a database, or its driver, may say anything
            cause = getattr(error, "orig", None) or error
            self.failed(f"{type(cause).__name__}: {quoted(without_secrets(str(cause), self.engine))}")

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sa.Connection]:
        if time.monotonic() - self._failed_at <= _QUIET:
            raise _LeftAlone
        with self._guard.watch():
            if not self._is_made:
                self._make_table()
            with self.engine.begin() as connection:
                yield connection

    def _make_table(self) -> None:
        """Create the table unless it is there; another worker may make it at the same moment."""
        try:
            _TABLE.metadata.create_all(self.engine)
        except SQLAlchemyError:
            _TABLE.metadata.create_all(self.engine)
        self._is_made = True

    def _remove_old(self, connection: sa.Connection) -> None:
        if self._max_age is not None:
            connection.execute(sa.delete(_TABLE).where(_TABLE.c.made <= time.time() - self._max_age))
        if self._max_rows is not None:
            newest = sa.select(_TABLE.c.made).order_by(_TABLE.c.made.desc()).offset(self._max_rows).limit(1)
            last = connection.execute(newest).scalar()
            if last is not None:
                connection.execute(sa.delete(_TABLE).where(_TABLE.c.made <= last))


def _connections_of(node: CheckedNode, uri: Any) -> Connections:
    connections = make_connections(Database(node, URI, uri, _SECONDS, is_written=True))
    if not is_secret(uri) and is_sqlite(uri):
        _make_file(sqlite_file(uri, node.files))
    engine = connections.engine
    if engine.dialect.name not in WRITTEN:
        text = f"answers are kept in sqlite or postgresql, not in {engine.dialect.name}"
        raise InvalidEnsemble([Problem(node.spec.path(URI), "load_failed", text)])
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _write_ahead)
    return connections


class _LeftAlone(Exception):
    """The database failed a moment ago."""


def _insert(engine: sa.Engine) -> Any:
    make: Any = sqlite.insert if engine.dialect.name == "sqlite" else postgresql.insert
    statement = make(_TABLE)
    new = {name: statement.excluded[name] for name in ("made", "answer")}
    return statement.on_conflict_do_update(index_elements=["key"], set_=new)


def _make_file(path: str) -> None:
    """Create a file that only this user can read, unless it is there."""
    with contextlib.suppress(OSError):  # the first query says what is wrong
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def _write_ahead(connection: Any, _: Any) -> None:
    """Set SQLite to write beside its file, so that processes read while one writes."""
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")


def _write(waiting: queue.Queue[Any], is_urgent: threading.Event, answers: _Answers) -> None:
    """Writes what comes until None does."""
    while True:
        taken = [waiting.get()]
        if isinstance(taken[0], tuple):
            is_urgent.wait(_PAUSE)
        is_urgent.clear()
        with contextlib.suppress(queue.Empty):
            while len(taken) < 10 * _TOGETHER:
                taken.append(waiting.get_nowait())
        rows = [one for one in taken if isinstance(one, tuple)]
        if rows:
            answers.write(rows)
        for one in taken:
            if isinstance(one, threading.Event):
                one.set()
        if None in taken:
            return


def _finish(waiting: queue.Queue[Any], thread: threading.Thread, answers: _Answers) -> None:
    with contextlib.suppress(queue.Full):
        waiting.put_nowait(None)
        if thread is not threading.current_thread():
            thread.join(_SECONDS)
    answers.engine.dispose()
