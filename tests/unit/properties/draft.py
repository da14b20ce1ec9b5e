"""A graph that is being drawn: which columns there are so far, and what is in them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from tests.unit.properties.expressions import KNOWN, written
from tests.unit.properties.plain import Expression, PlainNode, Row

LABELS: Final = ["c", "a", "b"]
DEFAULTS: Final[Mapping[str, Any]] = {
    "double": 0.25,
    "int64": 7,
    "boolean": True,
    "string": "z",
    "tensor": [0.5, 0.25, 0.25],
    "doubles": [1.0],
    "strings": ["z", ""],
}
"""A value of each kind that a file's ``default`` may say."""


@dataclasses.dataclass
class Draft:
    """The parts drawn so far.

    Attributes:
        draw: Hypothesis's.
        columns: The contents of each column that nodes may read.
        nodes: The nodes, in an order in which they can run.
    """

    draw: st.DrawFn
    columns: dict[str, str]
    nodes: list[PlainNode] = dataclasses.field(default_factory=list)
    numbers: Any = dataclasses.field(default_factory=lambda: itertools.count(1))

    def of(self, *kinds: str) -> str:
        """Picks a column."""
        return self.draw(st.sampled_from([name for name, kind in self.columns.items() if kind in kinds]))

    def several(self, *kinds: str, most: int = 3) -> list[str]:
        """Picks two columns or more of one kind."""
        kind = self.draw(st.sampled_from(kinds))
        known = [name for name, found in self.columns.items() if found == kind]
        return self.draw(st.lists(st.sampled_from(known), min_size=2, max_size=most, unique=True))

    def one_of(self, *choices: Any) -> Any:
        """Picks a value."""
        return self.draw(st.sampled_from(choices))

    def name(self) -> str:
        """Returns a name that nothing has."""
        return f"c{next(self.numbers)}"

    def expression(self, kind: str) -> Expression:
        """Draws an expression that gives something."""
        text, gaps, compute = self.one_of(*KNOWN[kind])
        return written(text, tuple(map(self.of, gaps)), compute)

    def node(
        self,
        spec: Mapping[str, Any],
        reads: Sequence[str],
        gives: Mapping[str, tuple[str, str]],
        of: Callable[[Row], Sequence[Any]],
        *,
        takes_nulls: bool = False,
    ) -> PlainNode:
        """Creates a node.

        Args:
            spec: The node in the file, without its outputs.
            reads: The columns that it reads.
            gives: For each column that it adds the port and what is in it.
            of: Computes their values, in order.
            takes_nulls: Whether it runs where a column is null.
        """
        outputs = {column: {"from": port} if port else {} for column, (port, _) in gives.items()}
        whole = dict(spec) if spec.get("apply") == "sql" else {**spec, "outputs": outputs}
        return PlainNode(
            f"n{next(self.numbers)}",
            whole,
            tuple(dict.fromkeys(reads)),
            {column: kind for column, (_, kind) in gives.items()},
            lambda row: dict(zip(gives, of(row), strict=True)),
            takes_nulls,
        )
