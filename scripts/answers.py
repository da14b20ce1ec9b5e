"""What the pipelines answered: how often they are right, and whether they agree."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MEMBERS = ("forest", "boost", "network")
TOLERANCE = 1e-5
"""How far apart two languages' confidences for one image may be."""

Answer = dict[str, Any]
"""One image's: ``id``, ``label``, ``confidence``, and each member's own ``<member>_label``."""


def read(path: Path) -> list[Answer]:
    """Reads JSON lines, ordered by id."""
    with path.open(encoding="utf-8") as lines:
        return sorted((json.loads(line) for line in lines), key=lambda answer: int(answer["id"]))


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


def incomplete(name: str, answers: Sequence[Answer], images: Sequence[Answer]) -> list[str]:
    """Says so where there is not one answer for each image."""
    if [answer["id"] for answer in answers] == [image["id"] for image in images]:
        return []
    return [f"{name} has {len(answers)} answers for {len(images)} images, or other ids than theirs"]


def differences(name: str, answers: Sequence[Answer], other: str, others: Sequence[Answer]) -> list[str]:
    """Says in what two languages' answers for the same images differ."""
    return [
        f"image {one['id']}: {name} says {_said(one)}, {other} says {_said(two)}"
        for one, two in zip(answers, others, strict=True)
        if one["label"] != two["label"] or abs(one["confidence"] - two["confidence"]) > TOLERANCE
    ]


def _said(answer: Answer) -> str:
    return f"{answer['label']} ({answer['confidence']:.6f})"


def table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """Draws accuracies: a row a member, a column a language."""
    names = [*MEMBERS, "ensemble"]
    header = f"  {'accuracy':<10}" + "".join(f"{language:>10}" for language in columns)
    rows = [
        f"  {name:<10}" + "".join(f"{values[name]:>10.4f}" for values in columns.values()) for name in names
    ]
    return "\n".join([header, "  " + "-" * (len(header) - 2), *rows])
