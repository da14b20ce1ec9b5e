"""Whether the pipelines of an example answered alike, and what their answers say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from scripts import answers
from scripts.answers import Answer
from scripts.example import Example
from scripts.layout import PYTHON
from scripts.pipelines import PROGRAMS, Language
from scripts.program import say, styled
from scripts.shell import output

_SAMPLE, _WIDTH, _MOST_PROBLEMS = 3, 200, 10


def report(example: Example, languages: Sequence[Language]) -> bool:
    """Prints what the rows of an example say; gives whether each language has all of them, and the same."""
    found = _read(example, [(language.name, example.answers(language.name)) for language in languages])
    problems = disagreements(found, example.scored)
    if example.failed:
        errors = [(language.name, example.errors(language.name)) for language in languages]
        problems += disagreements(_read(example, errors), example.failed)
    if example.parquet:
        files = [
            (f"{one.name}'s Parquet", example.as_parquet(one.name)) for one in languages if one in PROGRAMS
        ]
        problems += disagreements({**found, **_read(example, files)}, example.scored)
    say(f"\n{styled(example.name, 'bold')}")
    said = summary(example, languages[0]) if example.summary else sample(found[languages[0].name])
    say(said or "")
    problems += ["summary.py failed"] if said is None else []
    for problem in problems[:_MOST_PROBLEMS]:
        say(styled(problem, "red"))
    verdict = f"{len(problems)} disagreements" if problems else f"{', '.join(found)}: the same answers"
    say(f"{example.scored} rows. " + styled(verdict, "red" if problems else "green") + "\n")
    return not problems


def _read(example: Example, files: Iterable[tuple[str, Path]]) -> dict[str, list[Answer]]:
    return {name: answers.read(path, example.key) for name, path in files}


def disagreements(found: dict[str, list[Answer]], scored: int) -> list[str]:
    """Returns which languages lack rows or have too many, and, where none does, in what they differ.

    Args:
        found: Each language's rows, ordered by id.
        scored: How many there should be.
    """
    (first, reference), *others = found.items()
    if not len(reference) == len({row["id"] for row in reference}) == scored:
        return [f"{first} has {len(reference)} answers, not one for each of {scored} rows"]
    problems = [text for name, own in others for text in answers.incomplete(name, own, reference)]
    if problems:
        return problems
    return [text for name, own in others for text in answers.differences(first, reference, name, own)]


def summary(example: Example, language: Language) -> str | None:
    """Returns what the example's own summary says of a language's answers, or None where it fails."""
    return output([PYTHON, example.folder / "summary.py", example.answers(language.name)])


def sample(rows: Sequence[Answer]) -> str:
    """Returns the first rows, each on a line of no more than can be read."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows[:_SAMPLE]]
    return "\n".join(line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in lines)
