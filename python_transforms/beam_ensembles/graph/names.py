"""Who makes and who reads which column, and what is wrong with that."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Final

from beam_ensembles.errors import Problem, listed, nearest, nearest_of
from beam_ensembles.graph.follow_up_problems import Doubts
from beam_ensembles.spec.language import EXPRESSION_KEYS
from beam_ensembles.spec.model import EnsembleSpec, NodeSpec

_LONGEST_CYCLE: Final = 24
"""Nodes of a cycle that a message names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """The columns of an ensemble.

    Attributes:
        inputs: The columns of the incoming row, in the order of the file.
        makers: The node that adds each other column, in the order of the file.
        read: The columns that some node reads.
        nodes: The nodes that add a column.
    """

    inputs: Mapping[str, None]
    makers: dict[str, str]
    read: frozenset[str]
    nodes: frozenset[str]

    def has(self, column: str) -> bool:
        """Whether there is such a column."""
        return column in self.inputs or column in self.makers

    def columns(self) -> tuple[str, ...]:
        """Returns all columns: the row's, then the nodes'."""
        return (*self.inputs, *self.makers)

    def outputs(self, spec: EnsembleSpec) -> tuple[str, ...]:
        """The columns to add to the row: those that the file names, else those that no node reads or shadows."""
        if spec.outputs is not None:
            return spec.outputs
        shadows = {node.name for node in spec.nodes if node.shadow_of is not None}
        return tuple(
            column
            for column, maker in self.makers.items()
            if column not in self.read and maker not in shadows
        )

    def predecessors(self, node: NodeSpec) -> list[str]:
        """Returns the nodes that come before a node: those whose columns it reads or is compared with."""
        makers = [self.makers[column] for column in node.all_columns if column in self.makers]
        if node.shadow_of is not None and node.shadow_of in self.nodes:
            makers.append(node.shadow_of)
        return list(dict.fromkeys(makers))

    def _is_fed(self, node: NodeSpec, before: NodeSpec) -> bool:
        return any(self.makers.get(column) == before.name for column in node.columns)

    def cycle(self, nodes: Sequence[NodeSpec]) -> str:
        """Returns what is wrong with nodes that wait for each other in a circle."""
        conditions: list[str] = []
        for before, node in zip([nodes[-1], *nodes[:-1]], nodes, strict=True):
            made = [column for column in node.when_columns if self.makers.get(column) == before.name]
            if len(conditions) < _LONGEST_CYCLE and made and not self._is_fed(node, before):
                conditions.append(f"'{node.name}' waits because its 'when' reads {listed(made)}")
        because = f" ({'; '.join(conditions)})" if conditions else ""
        own = [column for column in nodes[0].all_columns if self.makers.get(column) == nodes[0].name]
        if len(nodes) == 1 and own:
            return f"the node reads what it makes itself: {listed(own)}{because}"
        names = [node.name for node in (*nodes, nodes[0])]
        if len(names) > _LONGEST_CYCLE:
            names = [*names[: _LONGEST_CYCLE - 2], f"({len(names) - _LONGEST_CYCLE + 1} more)", names[0]]
        return f"these nodes wait for each other: {' -> '.join(names)}{because}"


def names_of(spec: EnsembleSpec, doubts: Doubts) -> Names:
    """Looks up the columns of an ensemble; where two nodes add one column, the first in the file counts."""
    inputs = dict.fromkeys([*(column for column, _ in spec.inputs), *sorted(doubts.inputs)])
    makers: dict[str, str] = {}
    for node in spec.nodes:
        for output in node.outputs:
            if output.column not in inputs:
                makers.setdefault(output.column, node.name)
    read = (column for node in spec.nodes for column in node.all_columns)
    return Names(inputs, makers, frozenset(read), frozenset(makers.values()))


def check_names(spec: EnsembleSpec, names: Names, doubts: Doubts) -> Iterator[Problem]:
    """Finds columns that clash, are read but made nowhere, or are made but used nowhere."""
    known = _Known.of(spec, names)
    for node in spec.nodes:
        yield from _clashes(node, names)
        if not doubts.columns:
            yield from _unknown_columns(node, names, known)
    if not doubts.columns:
        yield from _unknown_outputs(spec, names)
        if not doubts.readers and spec.outputs is not None:
            yield from _unused_nodes(spec, names)


def _clashes(node: NodeSpec, names: Names) -> Iterator[Problem]:
    for output in node.outputs:
        place = node.path(output.key, output.column)
        if output.column in names.inputs:
            text = f"'{output.column}' is a column of the incoming row, which this one would hide; rename it"
            yield Problem(place, "hides_input", text)
        elif (maker := names.makers[output.column]) != node.name:
            text = f"the node '{maker}' adds a column '{output.column}' already; give this one another name"
            yield Problem(place, "duplicate_column", text)


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    """The columns that there are, to say what an unknown one may stand for.

    Attributes:
        columns: All columns.
        disabled: The node that would make each column that is not there because nothing enables the node.
        dashed: The columns with a dash in their names, by each part of the name.
    """

    columns: tuple[str, ...]
    disabled: Mapping[str, str]
    dashed: Mapping[str, Sequence[str]]

    @staticmethod
    def of(spec: EnsembleSpec, names: Names) -> _Known:
        disabled: dict[str, str] = {}
        for name, columns in spec.disabled.items():
            disabled |= {column: name for column in columns if column not in disabled}
        dashed: dict[str, list[str]] = {}
        for column in names.columns():
            for part in column.split("-") if "-" in column else ():
                dashed.setdefault(part, []).append(column)
        return _Known(names.columns(), disabled, dashed)


def _unknown_columns(node: NodeSpec, names: Names, known: _Known) -> Iterator[Problem]:
    places = [] if node.inputs is None else [node.inputs.path(at) for at in range(len(node.columns))]
    read = [*zip(node.columns, places, strict=True), *((column, "when") for column in node.when_columns)]
    unknown = [(column, place) for column, place in read if not names.has(column)]
    own = {output.column for output in node.outputs} if unknown else set()
    shown = list(itertools.islice(_others(known.columns, own), 12)) if unknown else []
    others = listed(shown, total=len(known.columns) - len(own))
    for column, place in unknown:
        if column in known.disabled:
            made = f"'{column}' is made by the node '{known.disabled[column]}', which is not enabled"
            text = f"{made}; disable this node too, or do without"
            yield Problem(node.path(place), "not_enabled", text)
            continue
        near = _quoted(column, place, known.dashed, own) or nearest(column, _others(known.columns, own))
        text = f"there is no column '{column}'{near} (columns: {others})"
        yield Problem(node.path(place), "unknown_column", text)


def _others(columns: Iterable[str], own: Set[str]) -> Iterator[str]:
    return (column for column in columns if column not in own)


def _quoted(column: str, place: str, dashed: Mapping[str, Sequence[str]], own: Set[str]) -> str:
    """Returns a hint where ``my-column`` was written in an expression, which takes ``column`` away from ``my``."""
    if re.split(r"[.\[]", place)[0] not in EXPRESSION_KEYS:
        return ""
    meant = next((known for known in dashed.get(column, ()) if known not in own), None)
    return "" if meant is None else f"; write '{meant}' in double quotes: \"{meant}\""


def _unknown_outputs(spec: EnsembleSpec, names: Names) -> Iterator[Problem]:
    added = tuple(names.makers)
    for index, column in enumerate(spec.outputs or ()):
        place = f"outputs[{index}]"
        if column in names.inputs:
            text = f"'{column}' is a column of the incoming row, which keeps it anyway; take it out here"
            yield Problem(place, "unknown_output", text)
        elif column not in names.makers:
            text = f"no node adds a column '{column}'{nearest(column, added)} (they add: {listed(added)})"
            yield Problem(place, "unknown_output", text)


def _unused_nodes(spec: EnsembleSpec, names: Names) -> Iterator[Problem]:
    wanted = names.read | set(spec.outputs or ())
    used = wanted | _probably_meant(wanted, names)
    for node in spec.nodes:
        columns = [output.column for output in node.outputs]
        if columns and node.shadow_of is None and not used.intersection(columns):
            text = (
                f"nothing uses what this node adds ({listed(columns)}); add it to 'outputs' or drop the node"
            )
            yield Problem(node.path(), "unused_node", text)


def _probably_meant(wanted: Iterable[str], names: Names) -> set[str]:
    """Returns the columns that misspelt ones stand for: who reads ``forst`` has a use for ``forest``."""
    columns = names.columns()
    found = (nearest_of(column, columns) for column in sorted(wanted) if not names.has(column))
    return {near for near in found if near is not None}
