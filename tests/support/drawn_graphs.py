"""Ensembles drawn at random for the pipelines of Go and Java, with what plain Python says of the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.support.client_calls import Call, Outcome
from tests.unit.properties.callers import Caller, drawn
from tests.unit.properties.graphs import REQUIRED
from tests.unit.properties.plain import scored

_COUNT: Final = 3


def calls(folder: Path) -> Iterator[Call]:
    """Writes the ensembles into a folder; gives how each is called."""
    for at, caller in enumerate(map(drawn, range(_COUNT))):
        file = folder / f"drawn{at}.json"
        file.write_text(caller.case.text, encoding="utf-8")

        def outcomes(added: Sequence[str], caller: Caller = caller) -> Iterator[Outcome]:
            return _outcomes(caller, added)

        yield Call(file.stem, file, caller.fields, caller.rows, outcomes, caller.columns, caller.prefix)


def _outcomes(caller: Caller, added: Sequence[str]) -> Iterator[Outcome]:
    for row in caller.case.rows:
        columns, failures = scored(caller.case.nodes, row, REQUIRED)
        if failures:
            yield Outcome(None, tuple(sorted(f"{node} {code}" for node, code in failures)))
        else:
            yield Outcome({field: columns[field.removeprefix(caller.prefix)] for field in added})
