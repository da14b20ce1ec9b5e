"""Who makes and who reads which column, and what is wrong with that."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence

from beam_ensembles.errors import Problem, listed, nearest
from beam_ensembles.graph.doubts import Doubts
from beam_ensembles.spec.model import EnsembleSpec, NodeSpec


@dataclasses.dataclass(frozen=True, slots=True)
class Names:
    """The columns of an ensemble.

    Attributes:
        inputs: The columns of the incoming row.
        makers: The node that adds each other column, in the order of the file.
        read: The columns that some node reads.
    """

    inputs: tuple[str, ...]
    makers: dict[str, str]
    read: frozenset[str]

    def columns(self) -> tuple[str, ...]:
        """Gives all columns: the row's, then the nodes'."""
        return (*self.inputs, *self.makers)

    def outputs(self, spec: EnsembleSpec) -> tuple[str, ...]:
        """Gives the columns to add to the row: those that the file names, else those that no node reads or shadows."""
        if spec.outputs is not None:
            return spec.outputs
        shadows = {node.name for node in spec.nodes if node.shadow_of is not None}
        return tuple(
            column
            for column, maker in self.makers.items()
            if column not in self.read and maker not in shadows
        )

    def predecessors(self, node: NodeSpec) -> list[str]:
        """Gives the nodes that come before a node: those whose columns it reads or is compared with."""
        makers = [self.makers[column] for column in node.all_columns if column in self.makers]
        if node.shadow_of in self.makers.values() and node.shadow_of is not None:
            makers.append(node.shadow_of)
        return list(dict.fromkeys(makers))

    def cycle(self, nodes: Sequence[NodeSpec]) -> str:
        """Says what is wrong with nodes that wait for each other, each for the one before, the first for the last."""
        conditions = []
        for before, node in zip([nodes[-1], *nodes[:-1]], nodes, strict=True):
            made = [column for column in node.when_columns if self.makers.get(column) == before.name]
            if made and not any(self.makers.get(column) == before.name for column in node.columns):
                conditions.append(f"'{node.name}' waits because its 'when' reads {listed(made)}")
        because = f" ({'; '.join(conditions)})" if conditions else ""
        own = [column for column in nodes[0].all_columns if self.makers.get(column) == nodes[0].name]
        if len(nodes) == 1 and own:
            return f"the node reads what it makes itself: {listed(own)}{because}"
        names = [node.name for node in (*nodes, nodes[0])]
        return f"these nodes wait for each other: {' -> '.join(names)}{because}"


def names_of(spec: EnsembleSpec, doubts: Doubts) -> Names:
    """Looks up the columns of an ensemble; where two nodes add one column, the first in the file counts."""
    inputs = tuple(dict.fromkeys([*(column for column, _ in spec.inputs), *sorted(doubts.inputs)]))
    makers: dict[str, str] = {}
    for node in spec.nodes:
        for output in node.outputs:
            if output.column not in inputs:
                makers.setdefault(output.column, node.name)
    read = (column for node in spec.nodes for column in node.all_columns)
    return Names(inputs, makers, frozenset(read))


def check_names(spec: EnsembleSpec, names: Names, doubts: Doubts) -> Iterator[Problem]:
    """Finds columns that clash, are read but made nowhere, or are made but used nowhere."""
    for node in spec.nodes:
        yield from _clashes(node, names)
        if not doubts.columns:
            yield from _unknown_columns(node, names, spec)
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


def _unknown_columns(node: NodeSpec, names: Names, spec: EnsembleSpec) -> Iterator[Problem]:
    places = [] if node.inputs is None else [node.inputs.path(at) for at in range(len(node.columns))]
    read = [*zip(node.columns, places, strict=True), *((column, "when") for column in node.when_columns)]
    own = {output.column for output in node.outputs}
    for column, place in read:
        if column in names.columns():
            continue
        out = next((name for name, columns in spec.disabled.items() if column in columns), None)
        if out is not None:
            text = f"'{column}' is made by the node '{out}', which is not enabled; disable this node too, or do without"
            yield Problem(node.path(place), "not_enabled", text)
            continue
        columns = [known for known in names.columns() if known not in own]
        near = _quoted(column, place, columns) or nearest(column, columns)
        text = f"there is no column '{column}'{near} (columns: {listed(columns)})"
        yield Problem(node.path(place), "unknown_column", text)


def _quoted(column: str, place: str, columns: Iterable[str]) -> str:
    """Gives a hint where ``my-column`` was written in an expression, which takes ``column`` away from ``my``."""
    if re.split(r"[.\[]", place)[0] not in ("when", "select", "cases"):
        return ""
    meant = next((known for known in columns if "-" in known and column in known.split("-")), None)
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
    """Gives the columns that misspelt ones stand for: who reads ``forst`` has a use for ``forest``."""
    columns = names.columns()
    unknown = (column for column in wanted if column not in columns)
    return {near for column in unknown for near in difflib.get_close_matches(column, columns, n=1)}
