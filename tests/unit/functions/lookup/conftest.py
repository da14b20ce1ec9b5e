"""A database of accounts in an SQLite file."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.handlers.support import retrying

SCHEMA = """
CREATE TABLE accounts (
    card TEXT NOT NULL, country TEXT, number INTEGER, age_days REAL, is_closed BOOLEAN, "select" TEXT,
    visits INTEGER, mark BLOB, opened TIMESTAMP, born DATE, limits JSON, price NUMERIC(10, 2)
);
CREATE VIEW cards AS SELECT card FROM accounts;
"""
ROWS = [
    ("a", "de", 1, 3.5, 0, "x", 7, b"\x00", "2024-05-06 07:08:09.000000", "2024-05-06", "[1, 2.5]", 12.5),
    ("b", "de", 2, None, 1, "y", 8, b"\x01", "1969-12-31 23:59:59.000000", "2000-01-01", "[]", 0),
    ("b", "fr", 3, 4.0, 0, "z", 9, b"", "2024-05-06 07:08:09.000000", "2000-01-01", "[0.5]", 99),
]


@pytest.fixture
def accounts(tmp_path: Path) -> Path:
    """A folder with ``accounts.db``: the card ``b`` is there twice, in two countries."""
    with contextlib.closing(sqlite3.connect(tmp_path / "accounts.db")) as database:
        database.executescript(SCHEMA)
        marks = ", ".join("?" * len(ROWS[0]))
        database.executemany(f"INSERT INTO accounts VALUES ({marks})", ROWS)
        database.commit()
    return tmp_path


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.01)


def node(**more: Any) -> dict[str, Any]:
    """Returns a lookup in ``accounts.db``."""
    return {
        "apply": "lookup",
        "url": "sqlite:///accounts.db",
        "table": "accounts",
        "key": "card",
        "outputs": {"age_days": "double"},
    } | more
