"""Reports how often an ensemble was right about the pictures; ends with 1 where that is less than four times in five.

python examples/captions/summary.py captioned.jsonl
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

WANTED = 0.8
SHOWN = 3

Row = Mapping[str, Any]


def best(row: Row) -> str:
    """Returns what an ensemble says of a row: the answer to a question, or the text that fits best."""
    found: str = row["answer"] if "answer" in row else row["top"][0]["text"]
    return found


def share(rows: Sequence[Row], said: Callable[[Row], str] = best) -> float:
    """Returns how many of all rows are right; a text is, where it says what the picture shows."""
    return sum(row["truth"] in said(row) for row in rows) / len(rows)


def shown(row: Row) -> list[str]:
    """Returns a row as a few lines."""
    if "answer" in row:
        return [f"{row['url']}  {row['question']}  {row['answer']}"]
    return [row["url"], *(f"  {text['probability']:.3f}  {text['text']}" for text in row["top"])]


def main() -> int:
    """Prints the first rows and the share; gives the exit code."""
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    rows.sort(key=lambda row: int(row["id"]))
    print("\n".join(line for row in rows[:SHOWN] for line in shown(row)))
    if "captions" in rows[0]:
        print(f"BLIP's first caption is right for {share(rows, lambda row: row['captions'][0]):.1%}")
    right = share(rows)
    print(f"right for {right:.1%} of {len(rows)} pictures; at least {WANTED:.0%} are wanted")
    return 0 if right >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
