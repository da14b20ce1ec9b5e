"""The URL of a database: what an ensemble file may say itself, and what must be a secret of the workers."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from beam_ensembles.errors import listed, nearest
from beam_ensembles.files.ensemble_files import FileProblem, Files, local_path
from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.graph.secrets import check_secret
from beam_ensembles.spec.secrets import is_secret

SERVERS: Final = ("mariadb", "mssql", "mysql", "oracle", "postgresql")
"""The databases that a file may name by itself, beside SQLite; a secret may be any URL that SQLAlchemy knows."""
_SQLITE: Final = "sqlite"
_QUERY: Final = ("application_name", "charset", "sslmode")
"""What may stand behind ``?``: nothing that names another host, a file or code."""
_SERVER: Final = re.compile(
    r"\w+(\+\w+)?://([\w.%~+-]+@)?([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?(/[\w.$~+-]*)?(\?[\w.=&-]*)?",
    re.ASCII,
)
"""What urllib, SQLAlchemy and the drivers read alike: ``#`` starts a fragment for one of them, and is part of a name
for the others; some drivers read a database's name as a description of where to connect to."""
_FORM: Final = "postgresql+psycopg://USER@HOST:PORT/DATABASE or sqlite:///FILE"


WRITTEN: Final = ("postgresql", _SQLITE)
"""The databases that nodes write to."""
_ENDINGS: Final = (".db", ".sqlite", ".sqlite3")
"""How the name of a file ends that nodes may make."""


def check_database(node: NodeView, key: str, url: Any, *, is_written: bool = False) -> None:
    """Reports a URL that is none, holds a password, or names a host or a file that nobody allowed.

    Args:
        node: The node.
        key: Where in the node the URL stands.
        url: The URL, or a secret that holds it.
        is_written: Whether the node writes to the database: then it may be a new file.
    """
    if is_secret(url):
        check_secret(node, key, url)  # whoever keeps it says where it leads
        return
    if not isinstance(url, str):
        return
    problem = _wrong_form(url) or (_wrong_to_write(url) if is_written else "")
    if problem:
        node.problem("bad_value", key, problem)
        return
    try:
        if is_sqlite(url):
            _check_file(node, key, url, is_written)
        else:
            node.files.check_host(url)
    except FileProblem as refused:
        node.problem(refused.code, key, str(refused))


def is_sqlite(url: str) -> bool:
    """Returns whether a URL is that of an SQLite file."""
    return url.partition(":")[0].partition("+")[0] == _SQLITE


def sqlite_file(url: str, files: Files) -> str:
    """Returns the absolute path of the SQLite file of a URL that was checked.

    Raises:
        FileProblem: The workers would not find it, or it leads out of the trusted folder that it lay in.
    """
    found = files.resolve(_file_of(url))
    if not files.is_trusted(found):
        raise FileProblem("untrusted_file", _untrusted(found))
    return found


def _untrusted(file: str) -> str:
    return f"'{file}' is not trusted; trust its folder (start with --trust FOLDER)"


def _file_of(url: str) -> str:
    return url.partition("://")[2].removeprefix("/")


def _check_file(node: NodeView, key: str, url: str, is_written: bool) -> None:
    file = _file_of(url)
    if is_written and node.files.bundle is not None:
        text = (
            f"'{file}' would be among the files of a bundle, which are only read; keep answers in postgresql"
        )
        node.problem("not_in_bundle", key, text)
        return
    found = node.files.resolve(file) if is_written else node.files.check(file)
    if local_path(found) is None:
        node.problem("bad_value", key, f"an SQLite file is one of this machine, not '{found}'")
    elif not node.files.is_trusted(found):
        node.problem("untrusted_file", key, _untrusted(found))


def _wrong_to_write(url: str) -> str:
    dialect = url.partition(":")[0].partition("+")[0]
    if dialect not in WRITTEN:
        return f"answers are kept in sqlite or postgresql, not in {dialect}"
    if dialect == _SQLITE and not _file_of(url).endswith(_ENDINGS):
        return f"the name of the file ends with {', '.join(_ENDINGS[:-1])} or {_ENDINGS[-1]}"
    return ""


def _wrong_form(url: str) -> str:
    """Returns what is wrong with a URL; never shows it where it may hold a password."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises where it is none
    except ValueError:
        return f"this is not the URL of a database: expected {_FORM}"
    if parts.password is not None:
        return (
            "the URL holds a password, which everybody could read in the pipeline's description; "
            'make the whole URL a secret of the workers: {secret: "env:NAME"}'
        )
    dialect = parts.scheme.partition("+")[0]
    if dialect not in (*SERVERS, _SQLITE):
        known = (*SERVERS, _SQLITE)
        near = nearest(dialect, known)
        return (
            f"a file names no database '{dialect}'{near} (it may name: {listed(known)}; a secret any other)"
        )
    return _wrong_sqlite(url) if dialect == _SQLITE else _wrong_server(url, parts)


def _wrong_sqlite(url: str) -> str:
    path = _file_of(url)
    if not url.partition("://")[2].startswith("/") or path in ("", ":memory:") or path.startswith("file:"):
        return "name an SQLite file: sqlite:///FILE beside the ensemble file, or sqlite:////absolute/path"
    if "?" in path:
        return "an SQLite URL takes nothing after '?': the file is only read"
    return ""


def _wrong_server(url: str, parts: SplitResult) -> str:
    if not parts.hostname or not set(parts.hostname).isdisjoint(",/%\\ "):
        return f"the URL names no host: it is {_FORM}"
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if name not in _QUERY:
            return f"'{name}' is not allowed here (allowed: {listed(_QUERY)}); make the whole URL a secret"
    if _SERVER.fullmatch(url) is None:
        return f"the URL has characters that programs read differently; make it {_FORM}, or make it a secret"
    return ""
