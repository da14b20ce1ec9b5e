"""Reports how much of the calls was heard, understood and recommended right.

    python examples/calls/summary.py recommended.jsonl

A transcript is right where it is what was said, word for word.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PARTS = {"transcript": "said", "recommendation": "expected"}


def shares(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Returns for each part of the answers the share of the rows in which it is right."""
    return {part: sum(row[part] == row[truth] for row in rows) / len(rows) for part, truth in PARTS.items()}


def main() -> None:
    """Prints a line for each part, and one for each recommendation."""
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for part, share in shares(rows).items():
        print(f"{part:<16}right for {share:.4f} of {len(rows)} calls")
    found = Counter((row["recommendation"], row["intent"], row["sentiment"]) for row in rows)
    print(f"\n{'recommendation':<18}{'intent':<14}{'sentiment':<11}calls")
    for (recommendation, intent, sentiment), calls in sorted(found.items()):
        print(f"{recommendation:<18}{intent:<14}{sentiment:<11}{calls:>5}")


if __name__ == "__main__":
    main()
