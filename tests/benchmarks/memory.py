"""How many copies of a model the workers of a machine hold, by what its node says."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from tests.support.memory import copies_held

PROCESSES: Final = 4
THREADS: Final = 4
_WIDTH: Final = 5_792
_CONFIGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "nothing": {},
    "large_model: true": {"large_model": True},
    "model_copies: 2": {"model_copies": 2},
}
HEADINGS: Final = ("config of the node", "held together", "models")


@dataclasses.dataclass(frozen=True)
class Held:
    """What the workers hold for one node.

    Attributes:
        config: What the node says.
        size: Bytes of the model's weights.
        copies: How many times as many the workers hold together.
    """

    config: str
    size: int
    copies: float


def measure() -> list[Held]:
    """Measures that for a model of 256 MiB, with 4 workers of 4 threads each."""
    with tempfile.TemporaryDirectory() as folder:
        size, copies = copies_held(Path(folder), _WIDTH, _CONFIGS, PROCESSES, THREADS)
    return [Held(config, size, found) for config, found in copies.items()]


def cells(one: Held) -> tuple[str, str, str]:
    """Gives it as the texts of a line."""
    return one.config, f"{one.copies * one.size / 2**20:,.0f} MiB", f"{one.copies:.2f}"


def title(found: Sequence[Held]) -> str:
    """Says what was measured."""
    size = f"{found[0].size / 2**20:.0f} MiB"
    return f"Memory: {PROCESSES} worker processes of {THREADS} threads each, a model of {size}"


def show(found: Sequence[Held], console: Console) -> None:
    """Prints the table."""
    table = Table(title=title(found))
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading is HEADINGS[0] else "right")
    for one in found:
        table.add_row(*cells(one))
    console.print(table)


def page(found: Sequence[Held]) -> str:
    """Gives the table as a part of a page in Markdown."""
    lines = [f"## {title(found)}", ""]
    lines += [
        f"| {' | '.join(texts)} |" for texts in (HEADINGS, ("---",) * len(HEADINGS), *map(cells, found))
    ]
    return "\n".join([*lines, "", ""])
