"""Reports how many tickets were sorted right, and how many of them the language model had to read.

    python examples/triage/summary.py sorted.jsonl

The right answers are in ``right.jsonl`` beside the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

READ_ONLY = ("urgency", "product", "summary")
"""What the language model alone answers."""

Rows = Sequence[dict[str, Any]]


def read(path: Path) -> list[dict[str, Any]]:
    """Returns the rows of a file, by id."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return sorted(rows, key=lambda row: row["id"])


def share(rows: Rows, right: Rows, column: str, fact: str) -> float:
    """Returns for how many of the rows a column is right."""
    facts = {row["id"]: row[fact] for row in right}
    found = [bool(row.get(column) == facts[row["id"]]) for row in rows]
    return sum(found) / len(found)


def main() -> None:
    """Prints the shares, and two tickets that were read."""
    path = Path(sys.argv[1])
    rows, right = read(path), read(path.with_name("right.jsonl"))
    asked = [row for row in rows if row.get("read") is not None]
    print(f"{len(rows)} tickets, of which the language model has read {len(asked)}\n")
    print(f"  {'guess of the classifier':<26}right {share(rows, right, 'guess', 'category'):.4f}")
    print(f"  {'category of the ensemble':<26}right {share(rows, right, 'category', 'category'):.4f}")
    print(f"  {'language':<26}right {share(rows, right, 'language', 'language'):.4f}")
    print("\nof those that it has read")
    for column in ("guess", "read", "second", "category"):
        print(f"  {column:<26}right {share(asked, right, column, 'category'):.4f}")
    for column in READ_ONLY:
        print(f"  {column:<26}right {share(asked, right, column, column):.4f}")
    for row in asked[:2]:
        print()
        for column, value in row.items():
            print(f"  {column:<12}{value if isinstance(value, str) else json.dumps(value)}")


if __name__ == "__main__":
    main()
