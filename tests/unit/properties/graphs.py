"""Ensembles and rows drawn at random."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from tests.unit.properties.combiners import COMBINERS
from tests.unit.properties.draft import DEFAULTS, Draft
from tests.unit.properties.functions import FUNCTIONS
from tests.unit.properties.plain import PlainNode, Row

INPUTS: Final[Mapping[str, tuple[str, str]]] = {
    "x": ("double", "double"),
    "y": ("double", "double?"),
    "z": ("double", "double?"),
    "i": ("int64", "int64"),
    "j": ("int64", "int64?"),
    "t": ("boolean", "boolean"),
    "u": ("boolean", "boolean?"),
    "r": ("string", "string"),
    "s": ("string", "string?"),
    "p": ("tensor", "array<double>[3]"),
    "q": ("tensor", "array<double>[3]?"),
    "l": ("doubles", "array<double>"),
    "m": ("doubles", "array<double>?"),
    "w": ("strings", "array<string>"),
}
"""The input columns: what is in each, and its type."""

REQUIRED: Final = tuple(name for name, (_, type_) in INPUTS.items() if not type_.endswith("?"))
_DOUBLES = st.sampled_from([-2.0, -0.5, 0.0, 0.5, 1.0, 1.5, 3.0, math.nan])
_TEXTS = st.sampled_from(["", "a", "b", "c", "d", "1", "-2"])
_VALUES: Final[Mapping[str, st.SearchStrategy[Any]]] = {
    "double": _DOUBLES,
    "int64": st.integers(-1, 3),
    "boolean": st.booleans(),
    "string": _TEXTS,
    "tensor": st.lists(_DOUBLES, min_size=3, max_size=3),
    "doubles": st.lists(_DOUBLES, max_size=3),
    "strings": st.lists(_TEXTS, max_size=3),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """An ensemble and some rows.

    Attributes:
        nodes: The nodes, in an order in which they can run.
        text: The file, its nodes in another order.
        rows: The rows.
    """

    nodes: tuple[PlainNode, ...]
    text: str
    rows: tuple[Row, ...]

    def __repr__(self) -> str:
        return f"\n{self.text}\n" + "\n".join(map(repr, self.rows))


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """A row; any column may be null, seldom where that is an error."""
    found = {}
    for name, (kind, _) in INPUTS.items():
        is_null = draw(st.integers(0, 40 if name in REQUIRED else 3)) == 1
        found[name] = None if is_null else draw(_VALUES[kind])
    return found


@st.composite
def drafts(draw: st.DrawFn, most: int = 7, numbers: Iterator[int] | None = None) -> Draft:
    """A graph of cheap nodes; every node may have a condition and a policy.

    Args:
        draw: Hypothesis's.
        most: How many nodes there are at most, shadows apart.
        numbers: What names are made of; graphs that shall be in one file share it.
    """
    columns = {name: kind for name, (kind, _) in INPUTS.items()}
    draft = Draft(draw, columns, numbers=itertools.count(1) if numbers is None else numbers)
    for _ in range(draw(st.integers(1, most))):
        node = _with_policies(draft, draw(st.sampled_from([*FUNCTIONS, *COMBINERS]))(draft))
        draft.nodes.append(node)
        if node.enabled:
            draft.columns.update(node.gives)
            if draw(st.integers(0, 5)) == 0:
                draft.nodes.append(_shadow(draft, node))
    if not any(node.enabled for node in draft.nodes):
        draft.nodes[0] = dataclasses.replace(draft.nodes[0], enabled=True)
    return draft


@st.composite
def cases(draw: st.DrawFn, most: int = 7) -> Case:
    """An ensemble of cheap nodes with rows for it."""
    draft = draw(drafts(most))
    file = draw(files(draft.nodes))
    return Case(
        tuple(draft.nodes),
        json.dumps(file, ensure_ascii=False, indent=1),
        tuple(draw(st.lists(rows(), min_size=1, max_size=8))),
    )


def _with_policies(draft: Draft, node: PlainNode) -> PlainNode:
    spec = {**node.spec, "stage": "own"} if draft.one_of(False, False, True) else node.spec
    policies: list[str | None] = [None, None, "nullify", "fail_row"]
    if all(kind in DEFAULTS for kind in node.gives.values()):
        policies.append("default")
    return dataclasses.replace(
        node,
        spec=spec,
        when=draft.expression("boolean") if draft.one_of(False, False, True) else None,
        on_error=draft.one_of(*policies),
        defaults={column: DEFAULTS.get(kind) for column, kind in node.gives.items()},
        enabled=draft.one_of(*[True] * 9, False),
    )


def _shadow(draft: Draft, node: PlainNode) -> PlainNode:
    """Returns a node that does the same, or the same on other rows."""
    names = {column: draft.name() for column in node.gives}
    key = "select" if "select" in node.spec else "outputs"
    spec = {**node.spec, "shadow_of": node.name}
    spec[key] = {names[column]: value for column, value in node.spec[key].items()}
    if spec.get("outputs") and node.spec.get("apply") == "sql":
        del spec["outputs"]
    return dataclasses.replace(
        node,
        name=f"{node.name}_shadow",
        spec=spec,
        gives={names[column]: kind for column, kind in node.gives.items()},
        of=lambda row: {names[column]: value for column, value in node.of(row).items()},
        when=draft.expression("boolean") if draft.one_of(False, True) else node.when,
        on_error=None,
        shadow=True,
    )


@st.composite
def files(draw: st.DrawFn, nodes: Sequence[PlainNode]) -> dict[str, Any]:
    """A file of nodes, in any order."""
    order = draw(st.permutations(nodes))
    file: dict[str, Any] = {
        "ensemble": "random",
        "inputs": {name: type_ for name, (_, type_) in INPUTS.items()},
        "nodes": {node.name: node.as_in_file() for node in order},
    }
    if draw(st.sampled_from([True, True, False])):
        file["outputs"] = [column for node in order for column in node.gives]
    return file
