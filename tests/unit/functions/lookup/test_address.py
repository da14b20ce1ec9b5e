"""Which databases a file may name itself, and what is refused before anything is connected."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa

from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from tests.unit.functions.lookup.conftest import node

HOST = "db.example.com"


def problems(url: object, files: Files) -> list[Problem]:
    spec = {"ensemble": "test", "inputs": {"card": "string"}, "nodes": {"node": node(url=url)}}
    try:
        check_text(json.dumps(spec), KINDS, files)
    except InvalidEnsemble as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://{HOST}/accounts",
        f"postgresql+psycopg://me@{HOST}:5433/accounts?sslmode=verify-full&application_name=beam",
        f"mysql+pymysql://{HOST}/accounts?charset=utf8mb4",
        f"mssql+pyodbc://{HOST}/accounts",
        "postgresql+psycopg2://me%40team@db.example.com/my_accounts-2$",
    ],
)
def test_a_server_needs_leave(url: str) -> None:
    assert problems(url, Files(hosts=(HOST,))) == problems(url, Files(hosts=ANYTHING)) == []
    assert [problem.code for problem in problems(url, Files(hosts=("other.example.com",)))] == [
        "untrusted_host"
    ]


@pytest.mark.parametrize(
    "url",
    [
        "accounts.db",
        "postgresql:///accounts",
        "postgresql://a,b/accounts",
        f"postgresql://{HOST}:x/accounts",
        f"postgresql://{HOST}/accounts?host=/tmp",
        f"postgresql://{HOST}/accounts?service=other",
        f"postgresql://{HOST}/accounts?sslkey=/etc/key.pem",
        f"mysql://{HOST}/accounts?local_infile=1",
        f"mssql+pyodbc://{HOST}/accounts?driver=/tmp/evil.so",
        f"postgresql://{HOST}/accounts?plugin=evil",
        f"postgresql://{HOST}#@other.example.com/accounts",
        f"postgresql://{HOST}/accounts#?host=other.example.com&sslkey=/etc/key.pem",
        f"mssql+pyodbc://{HOST}/accounts#?odbc_connect=Driver=/tmp/evil.so",
        f"mysql+mysqldb://{HOST}/#?local_infile=1&read_default_file=/etc/passwd",
        f"postgresql://{HOST}/accounts?sslmode=disable#?host=other.example.com",
        f"oracle+oracledb://{HOST}/x)(ADDRESS=(PROTOCOL=tcp)(HOST=other.example.com)(PORT=1521))",
        f"mssql+pyodbc://{HOST}/accounts;Driver=evil",
        f"postgresql://a@b@{HOST}/accounts",
        f"postgresql://{HOST}/a%20host=other.example.com",
        f"duckdb://{HOST}/etc/passwd",
        f"https://{HOST}/accounts",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:/etc/passwd?mode=ro&uri=true",
        "sqlite:///accounts.db?cache=shared",
        "sqlite:///",
        f"sqlite://{HOST}/accounts.db",
    ],
)
def test_what_no_file_may_name(url: str) -> None:
    found = problems(url, Files("/", ("/",), hosts=ANYTHING))
    assert [(problem.code, problem.path) for problem in found] == [("bad_value", "nodes.node.url")]


def test_sqlalchemy_connects_to_the_host_that_was_compared() -> None:
    for user, host, port, database, query in itertools.product(
        ("", "me@", "me%40team@"),
        (HOST, "[2001:db8::1]"),
        ("", ":5433"),
        ("", "/", "/x"),
        ("", "?", "?sslmode=disable"),
    ):
        url = f"postgresql://{user}{host}{port}{database}{query}"
        assert problems(url, Files(hosts=(HOST, "2001:db8::1"))) == []
        assert sa.make_url(url).host == urlsplit(url).hostname


@pytest.mark.parametrize("url", [f"postgresql://me:hunter2@{HOST}/x", f"nosql://me:hunter2@{HOST}/x"])
def test_a_password_is_refused_and_not_shown(url: str) -> None:
    (problem,) = problems(url, Files(hosts=ANYTHING))
    assert problem.code == "bad_value"
    assert "hunter2" not in problem.message


def test_an_sqlite_file_must_be_trusted(accounts: Path) -> None:
    trusted = Files(str(accounts), (str(accounts),))
    for url in (
        "sqlite:///accounts.db",
        f"sqlite:///{accounts}/accounts.db",
        "sqlite+pysqlite:///accounts.db",
    ):
        assert problems(url, trusted) == []
        assert [problem.code for problem in problems(url, Files(str(accounts)))] == ["untrusted_file"]
    assert [problem.code for problem in problems("sqlite:///none.db", trusted)] == ["missing_file"]
    far = Files(str(accounts), (str(accounts),), shared=False)
    assert [problem.code for problem in problems("sqlite:///accounts.db", far)] == [
        "local_uri_on_remote_worker"
    ]


def test_a_secret_needs_leave_but_no_host() -> None:
    url = {"secret": "env:ACCOUNTS"}
    assert problems(url, Files(secrets=("env:ACCOUNTS",))) == []
    assert [problem.code for problem in problems(url, Files(hosts=ANYTHING))] == ["untrusted_secret"]
    assert [problem.code for problem in problems(3, Files(hosts=ANYTHING))] == ["wrong_type"]
