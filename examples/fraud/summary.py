"""Reports what a cascade costs and what it gains: how many rows the expensive model saw, and who was how good.

    python examples/fraud/summary.py scored.jsonl

The models are compared on the rows of the audit, which both of them saw: those that the cheap one was unsure about
would show neither as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pandas as pd
from sklearn.metrics import average_precision_score, precision_score, recall_score, roc_auc_score

FLAGGED = 0.3
"""From which probability on somebody looks at a payment at least."""
SCORES = {"cheap": "cheap_p", "forest": "forest_p", "cascade": "fraud_p"}


def shares(rows: pd.DataFrame) -> Iterator[str]:
    """Yields how many rows went on to the expensive model, and why."""
    seen = rows["forest_p"].notna().mean()
    yield f"{len(rows)} payments, {rows['fraud'].mean():.1%} of them fraud"
    yield f"unsure about {rows['unsure'].mean():.1%}; the forest saw {seen:.1%}, with the audit's tenth"


def comparison(audited: pd.DataFrame) -> Iterator[str]:
    """Compares the models on the rows that both of them saw."""
    fraud = audited["fraud"]
    yield f"\n{'audit':<10}{'rows':>8}{'fraud':>8}{'AUC':>9}{'AP':>8}{'precision':>11}{'recall':>8}"
    for name, column in SCORES.items():
        scores = audited[column]
        flagged = scores >= FLAGGED
        yield (
            f"{name:<10}{len(audited):>8}{fraud.sum():>8}{roc_auc_score(fraud, scores):>9.4f}"
            f"{average_precision_score(fraud, scores):>8.4f}"
            f"{precision_score(fraud, flagged):>11.4f}{recall_score(fraud, flagged):>8.4f}"
        )


def decisions(rows: pd.DataFrame) -> Iterator[str]:
    """Yields what became of all payments."""
    yield f"\n{'decision':<10}{'rows':>8}{'fraud':>8}"
    for decision, ones in rows.groupby("decision"):
        yield f"{decision:<10}{len(ones):>8}{ones['fraud'].sum():>8}"


def main() -> None:
    """Prints the tables."""
    rows = pd.read_json(sys.argv[1], lines=True)
    for part in (shares(rows), comparison(rows[rows["arm"] == "audit"]), decisions(rows)):
        print("\n".join(part))


if __name__ == "__main__":
    main()
