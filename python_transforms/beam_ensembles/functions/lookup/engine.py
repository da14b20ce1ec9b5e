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
from beam_ensembles.functions.lookup.address import SERVERS, is_sqlite, sqlite_file
from beam_ensembles.functions.lookup.guard import Guard
from beam_ensembles.functions.lookup.settings import LookupOptions
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
    """A node's database.

    Attributes:
        engine: The pool of its connections.
        guard: Ends those whose answer is too long.
    """

    engine: sa.Engine
    guard: Guard


def make_database(node: CheckedNode[LookupOptions], seconds: float) -> Database:
    """Creates the pool of connections of a node; nothing is connected yet.

    Args:
        node: The node.
        seconds: How long one query may take.

    Raises:
        InvalidEnsemble: The URL is none, or its driver is not installed here or cannot be used.
    """
    url = _url(node)
    name = url.drivername
    try:
        dialect = url.get_dialect()
        is_known = dialect.name in (*SERVERS, "sqlite")
        engine = sa.create_engine(
            url,
            connect_args={
                **_arguments(node, dialect.driver, seconds),
                **_NO_FILES_FOR_SERVERS.get(dialect.driver, {}),
            },
            hide_parameters=True,
            pool_pre_ping=True,
            pool_recycle=_RECYCLE_SECONDS,
            pool_timeout=seconds,
            poolclass=sa.QueuePool,
            **({"isolation_level": "AUTOCOMMIT"} if is_known else {}),
        )
    except ImportError as exc:
        raise _no_driver(node, name, exc) from None
    except NoSuchModuleError:
        text = f"this worker's SQLAlchemy knows no database '{name}'; install the package that adds it"
        raise _wrong(node, "not_installed", text) from None
    except (ArgumentError, TypeError) as exc:  # not with its own words, which may hold the URL
        text = f"no connection can be made of the URL of '{name}': {type(exc).__name__}"
        raise _wrong(node, "load_failed", text) from None
    if engine.dialect.is_async:
        text = f"'{name}' is an asynchronous driver; take another one of that database, such as psycopg"
        raise _wrong(node, "load_failed", text)
    _limit_queries(engine, seconds)
    return Database(engine, Guard(engine, seconds))


def without_secrets(text: str, engine: sa.Engine) -> str:
    """Takes the password of a connection out of what a driver says."""
    password = engine.url.password
    return text.replace(password, "***") if password else text


def _url(node: CheckedNode[LookupOptions]) -> sa.URL:
    given = node.options.url
    if not is_secret(given) and is_sqlite(given):
        place = f"file:{quote(sqlite_file(given, node.files))}"
        return sa.URL.create("sqlite", database=place, query={"mode": "ro", "uri": "true"})
    try:
        return sa.make_url(revealed(node, "url", given))
    except (ArgumentError, ValueError):
        text = (
            "the value is not the URL of a database, such as postgresql+psycopg://user:password@host/database"
        )
        raise _wrong(node, "load_failed", text) from None


def _arguments(node: CheckedNode[LookupOptions], driver: str, seconds: float) -> dict[str, Any]:
    """Returns what a driver is told of how long to wait; each has words of its own.

    Raises:
        InvalidEnsemble: The node says a ``timeout``, and it is not known how this driver is told.
    """
    whole = math.ceil(seconds)
    if driver == "psycopg":
        return {"connect_timeout": max(2, whole), "tcp_user_timeout": math.ceil(seconds * 1_000)}
    if driver == "psycopg2":
        return {"connect_timeout": max(2, whole)}
    if driver in ("mysqldb", "pymysql"):
        return {"connect_timeout": whole, "read_timeout": whole}
    if driver == "pysqlite":
        return {"timeout": seconds}
    if node.options.timeout is not None:
        text = f"the driver '{driver}' takes no time limit for queries; leave 'timeout' out"
        raise _wrong(node, "unsupported_option", text, "timeout")
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


def _no_driver(node: CheckedNode[LookupOptions], name: str, error: ImportError) -> InvalidEnsemble:
    module = str(error.name or "").partition(".")[0]
    package = DRIVERS.get(module, module or "its driver")
    text = f"this worker lacks the driver of '{name}' ({error}); install it with: pip install '{package}'"
    return _wrong(node, "not_installed", text)


def _wrong(node: CheckedNode[LookupOptions], code: str, text: str, key: str = "url") -> InvalidEnsemble:
    return InvalidEnsemble([Problem(node.spec.path(key), code, text)])
