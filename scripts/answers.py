"""What the pipelines of several languages answered, and whether they agree."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

TOLERANCE = 1e-5
"""How far apart two languages' numbers for one row may be; of large ones, this share of them."""

Answer = dict[str, Any]
"""One row's: its ``id``, and what the ensemble added."""


def read(path: Path, key: str = "id") -> list[Answer]:
    """Reads JSON lines, or Parquet from a file with that suffix, ordered by id.

    Args:
        path: The file.
        key: The field that is a row's id, where another one is.
    """
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq  # make demo starts without a library

        rows = pq.read_table(path).to_pylist()
    else:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted(({"id": row[key], **row} for row in rows), key=lambda answer: answer["id"])


def incomplete(name: str, answers: Sequence[Answer], rows: Sequence[Answer]) -> list[str]:
    """Returns so where there is not one answer for each row."""
    if [answer["id"] for answer in answers] == [row["id"] for row in rows]:
        return []
    return [f"{name} has {len(answers)} answers for {len(rows)} rows, or other ids than theirs"]


def differences(name: str, answers: Sequence[Answer], other: str, others: Sequence[Answer]) -> list[str]:
    """Returns in what two languages' answers for the same rows differ."""
    return [
        f"row {one['id']}, {place}: {name} says {own}, {other} says {theirs}"
        for one, two in zip(answers, others, strict=True)
        for place, own, theirs in _unlike(one, two)
    ]


def _unlike(one: Any, two: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yields the places in which two values differ. A field that is not there is null: languages write either."""
    if isinstance(one, dict) and isinstance(two, dict):
        for name in sorted({*one, *two}):
            yield from _unlike(one.get(name), two.get(name), f"{place}.{name}" if place else name)
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for at, (own, theirs) in enumerate(zip(one, two, strict=True)):
            yield from _unlike(own, theirs, f"{place}[{at}]")
    elif not _same(one, two):
        yield place, one, two


def _same(one: Any, two: Any) -> bool:
    if _is_number(one) and _is_number(two):
        return math.isclose(one, two, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(one) is type(two) and bool(one == two)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
