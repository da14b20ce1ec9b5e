"""What the demo makes of the answers: a file of those of each language, and how often each member is right."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.answers import Answer

MEMBERS = ("forest", "boost", "network")


def write(path: Path, answers: Sequence[Answer]) -> None:
    """Writes what two languages' answers can be compared by."""
    with path.open("w", encoding="utf-8") as file:
        for answer in answers:
            file.write(json.dumps({key: answer[key] for key in ("id", "label", "confidence")}) + "\n")


def accuracies(answers: Sequence[Answer], targets: Mapping[int, str]) -> dict[str, float]:
    """Gives the share of right answers, of each member and of the ensemble."""
    columns = {**{member: f"{member}_label" for member in MEMBERS}, "ensemble": "label"}
    return {
        name: sum(answer[column] == targets[answer["id"]] for answer in answers) / len(targets)
        for name, column in columns.items()
    }


def table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """Draws accuracies: a row a member, a column a language."""
    names = [*MEMBERS, "ensemble"]
    header = f"  {'accuracy':<10}" + "".join(f"{language:>10}" for language in columns)
    rows = [
        f"  {name:<10}" + "".join(f"{values[name]:>10.4f}" for values in columns.values()) for name in names
    ]
    return "\n".join([header, "  " + "-" * (len(header) - 2), *rows])
