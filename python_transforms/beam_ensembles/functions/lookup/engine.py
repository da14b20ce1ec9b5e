"""The connections to a database: one pool a worker, made by SQLAlchemy of a node's ``url``."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.files.ensemble_files import FileProblem
from beam_ensembles.functions.lookup.guard import Guard
from beam_ensembles.graph.database_urls import SERVERS, is_sqlite, sqlite_file
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.graph.secrets import revealed
from beam_ensembles.spec.secrets import is_secret

DRIVERS: Final[Mapping[str, str]] = {
    "MySQLdb": "mysqlclient", "cx_Oracle": "oracledb", "mariadb": "mariadb", "oracledb": "oracledb",
    "psycopg": "psycopg[binary]", "psycopg2": "psycopg2-binary", "pymysql": "PyMySQL", "pyodbc": "pyodbc",
}  # fmt: skip
"""The module of a driver -> what installs it."""
_NO_FILES_FOR_SERVERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "mariadbconnector": {"local_infile": False}, "mysqlconnector": {"allow_local_infile": False},
    "mysqldb": {"local_infile": 0}, "pymysql": {"local_infile": False},
}  # fmt: skip
"""A server of MySQL's protocol may answer any query by asking for a file of the client, which some drivers send."""
_STEPS: Final = 100_000
"""After how many steps of its machine, about a millisecond, SQLite asks whether to go on."""
_RECYCLE_SECONDS: Final = 1_800
"""How old a connection may become; firewalls forget those that are quiet for long."""


@dataclasses.dataclass(frozen=True, slots=True)
class Database:
    """A database of a node.

    Attributes:
        node: The node.
        key: Where in the node its URL stands.
        url: The URL, or a secret that holds it.
        seconds: How long one query may take.
        is_timed: Whether the node says so itself, so that the driver must be able to keep to it.
        is_written: Whether the node writes to it, in transactions.
    """

    node: CheckedNode
    key: str
    url: Any
    seconds: float
    is_timed: bool = False
    is_written: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Connections:
    """The connections to a database.

    Attributes:
        engine: The pool of connections.
        guard: Ends those whose answer takes too long or is too large.
    """

    engine: sa.Engine
    guard: Guard


def make_connections(database: Database) -> Connections:
    """Creates the pool of connections of a node; nothing is connected yet.

    Raises:
        InvalidEnsemble: The URL is none, or its driver is not installed here or cannot be used.
    """
    engine = _make_engine(database)
    return Connections(engine, Guard(engine, database.seconds))


def _make_engine(database: Database) -> sa.Engine:
    """Creates the pool itself.

    Raises:
        InvalidEnsemble: The URL is none, or its driver is not installed here or cannot be used.
    """
    url, seconds = _url(database), database.seconds
    name = url.drivername
    try:
        dialect = url.get_dialect()
        by_itself = dialect.name in (*SERVERS, "sqlite") and not database.is_written
        engine = sa.create_engine(
            url,
            connect_args={
                **_arguments(database, dialect.driver),
                **_NO_FILES_FOR_SERVERS.get(dialect.driver, {}),
            },
            hide_parameters=True,
            pool_pre_ping=True,
            pool_recycle=_RECYCLE_SECONDS,
            pool_timeout=seconds,
            poolclass=sa.QueuePool,
            **({"isolation_level": "AUTOCOMMIT"} if by_itself else {}),
        )
    except ImportError as exc:
        raise _no_driver(database, name, exc) from None
    except NoSuchModuleError:
        text = f"this worker's SQLAlchemy knows no database '{name}'; install the package that adds it"
        raise _wrong(database, "not_installed", text) from None
    except (ArgumentError, TypeError) as exc:  # not with its own words, which may hold the URL
        text = f"no connection can be made of the URL of '{name}': {type(exc).__name__}"
        raise _wrong(database, "load_failed", text) from None
    if engine.dialect.is_async:
        text = f"'{name}' is an asynchronous driver; take another one of that database, such as psycopg"
        raise _wrong(database, "load_failed", text)
    _limit_queries(engine, seconds)
    return engine


def without_secrets(text: str, engine: sa.Engine) -> str:
    """Takes the password of a connection out of what a driver says."""
    password = engine.url.password
    return text.replace(password, "***") if password else text


def _url(database: Database) -> sa.URL:
    node, given = database.node, database.url
    if not is_secret(given) and is_sqlite(given):
        try:
            place = f"file:{quote(sqlite_file(given, node.files))}"
        except FileProblem as problem:
            raise _wrong(database, problem.code, str(problem)) from None
        mode = "rwc" if database.is_written else "ro"
        return sa.URL.create("sqlite", database=place, query={"mode": mode, "uri": "true"})
    try:
        return sa.make_url(revealed(node, database.key, given))
    except (ArgumentError, ValueError):
        text = (
            "the value is not the URL of a database, such as postgresql+psycopg://user:password@host/database"
        )
        raise _wrong(database, "load_failed", text) from None


def _arguments(database: Database, driver: str) -> dict[str, Any]:
    """Returns what a driver is told of how long to wait; each has words of its own.

    Raises:
        InvalidEnsemble: The node says a ``timeout``, and it is not known how this driver is told.
    """
    seconds = database.seconds
    whole = math.ceil(seconds)
    if driver == "psycopg":
        return {"connect_timeout": max(2, whole), "tcp_user_timeout": math.ceil(seconds * 1_000)}
    if driver == "psycopg2":
        return {"connect_timeout": max(2, whole)}
    if driver in ("mysqldb", "pymysql"):
        return {"connect_timeout": whole, "read_timeout": whole}
    if driver == "pysqlite":
        return {"timeout": seconds}
    if database.is_timed:
        text = f"the driver '{driver}' takes no time limit for queries; leave 'timeout' out"
        raise _wrong(database, "unsupported_option", text, "timeout")
    return {}


def _limit_queries(engine: sa.Engine, seconds: float) -> None:
    if engine.dialect.name == "sqlite":
        _limit_sqlite(engine, seconds)
    if engine.dialect.name != "postgresql":
        return

    @sa.event.listens_for(engine, "connect")
    def limit(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute(f"SET statement_timeout TO {math.ceil(seconds * 1_000)}")
        cursor.close()
        connection.commit()


def _limit_sqlite(engine: sa.Engine, seconds: float) -> None:
    """Ends queries that take too long: SQLite's own ``timeout`` is for locks alone, and a view may never end."""

    @sa.event.listens_for(engine, "before_cursor_execute")
    def limit(connection: Any, *_: Any) -> None:
        end = time.monotonic() + seconds
        own = connection.connection.dbapi_connection
        own.set_progress_handler(lambda: time.monotonic() > end, _STEPS)


def _no_driver(database: Database, name: str, error: ImportError) -> InvalidEnsemble:
    module = str(error.name or "").partition(".")[0]
    package = DRIVERS.get(module, module or "its driver")
    text = f"this worker lacks the driver of '{name}' ({error}); install it with: pip install '{package}'"
    return _wrong(database, "not_installed", text)


def _wrong(database: Database, code: str, text: str, key: str = "") -> InvalidEnsemble:
    return InvalidEnsemble([Problem(database.node.spec.path(key or database.key), code, text)])
