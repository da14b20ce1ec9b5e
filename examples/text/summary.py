"""Reports how often each column of enriched texts is right, and shows a few of them.

    python examples/text/summary.py build/examples/text/enriched.jsonl

The right answers are in ``right.jsonl`` beside the file; a summary or translation is right if each of its letters is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

COLUMNS = ("category", "sentiment", "summary", "french")
SHOWN, WIDTH = 2, 100


def read(path: Path) -> dict[int, dict[str, Any]]:
    """Reads rows, by id."""
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row for row in rows}


def share(column: str, enriched: dict[int, dict[str, Any]], right: dict[int, dict[str, Any]]) -> str:
    """Returns for how many of the texts a column is right, or that it is not there."""
    if not any(column in row for row in enriched.values()):
        return "switched off"
    known = sum(enriched[id_].get(column) == facts[column] for id_, facts in right.items())
    return f"{known / len(right):.4f}"


def main() -> None:
    """Prints a line a column, and the first rows."""
    path = Path(sys.argv[1])
    enriched, right = read(path), read(path.with_name("right.jsonl"))
    print(f"right about {len(right)} texts that no model has seen")
    for column in COLUMNS:
        print(f"  {column:<11}{share(column, enriched, right)}")
    for id_ in sorted(enriched)[:SHOWN]:
        print()
        for column, value in enriched[id_].items():
            print(f"  {column:<17}{value if isinstance(value, str) else json.dumps(value)}"[:WIDTH])


if __name__ == "__main__":
    main()
