"""What there is to draw of an ensemble, before it is known how: figures, the columns that flow between them, stages."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles.graph.follow_up_problems import doubts
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.graph.names import Names, names_of
from beam_ensembles.graph.order import topological
from beam_ensembles.graph.planning import Plan
from beam_ensembles.limits import MOST_DRAWN
from beam_ensembles.spec.model import EnsembleSpec, NodeSpec
from beam_ensembles.types import Type

ROW_IN: Final = ">row"
ROW_OUT: Final = "row>"
"""The figures of the incoming and of the outgoing row; no node can have such a name."""

ROW: Final = "row"
"""The shape of these two; the others' shapes are the keys of a node: ``model``, ``combine``, ``route``, ``apply``."""

DATA: Final = "data"
CONDITION: Final = "condition"
COMPARISON: Final = "comparison"

_NOTED: Final = ("device", "quorum", "retries", "samples", "timeout")
"""The keys that stand on a node's figure: how it runs, beside what it is."""
_MOST_COLUMNS: Final = 12


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """A node, or the row that comes in or goes out.

    Attributes:
        name: Its name, no other figure's.
        shape: ``ROW`` or the key that says what the node runs.
        title: The text on it in large letters.
        lines: The lines below that.
        about: All that is known of it, one line each.
        condition: The expression under which it runs, or empty.
        is_shadow: Whether it runs beside another node.
    """

    name: str
    shape: str
    title: str
    lines: tuple[str, ...]
    about: tuple[str, ...]
    condition: str = ""
    is_shadow: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Flow:
    """Columns of one figure that the same figures read in the same way.

    Attributes:
        source: The figure that has them.
        columns: The columns; none where a shadow is only compared with the source.
        readers: The figures that they go to, each with what it does with them: ``DATA`` (reads them), ``CONDITION``
            (decides by them whether it runs), ``COMPARISON``.
    """

    source: str
    columns: tuple[str, ...]
    readers: tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True, slots=True)
class StageBox:
    """A stage: its name, why it is one, and the figures in it."""

    name: str
    reason: str
    figures: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Picture:
    """What there is to draw.

    Attributes:
        name: The ensemble's name.
        description: What the file says of it.
        note: What a reader of the picture must know of how it was made, or empty.
        figures: The incoming row, the nodes in the order in which they run, the outgoing row.
        flows: The columns that go from one to others.
        stages: The stages that hold nodes, in their order; none where they are not known.
    """

    name: str
    description: str
    note: str
    figures: tuple[Figure, ...]
    flows: tuple[Flow, ...]
    stages: tuple[StageBox, ...] = ()

    @property
    def lines(self) -> int:
        """How many lines are drawn: one for each reader of a flow."""
        return sum(len(flow.readers) for flow in self.flows)

    @property
    def fits_svg(self) -> bool:
        """Whether it has no more figures and lines than an SVG is drawn of."""
        return max(len(self.figures), self.lines) <= MOST_DRAWN


def picture(graph: EnsembleGraph, plan: Plan) -> Picture:
    """Returns what there is to draw of a checked ensemble and its plan."""
    types: dict[str, Type | None] = {}
    for node in graph.nodes:
        types |= node.outputs
    order = [node.spec for stage in plan.stages for node in stage.nodes]
    stages = tuple(
        StageBox(stage.name, stage.reason, tuple(node.spec.name for node in stage.nodes))
        for stage in plan.stages
        if stage.nodes
    )
    return _picture(graph.spec, order, types, stages, "")


def picture_of_names(spec: EnsembleSpec, note: str) -> Picture:
    """Returns what there is to draw of a file that was only read: names and declared types, but no stages.

    Args:
        spec: The file; its names must be right (``check_names``) and its nodes must not wait for each other.
        note: What the reader must know.
    """
    names = names_of(spec, doubts(spec, ()))
    by_name = {node.name: node for node in spec.nodes}
    order, _ = topological(list(by_name), {name: names.predecessors(node) for name, node in by_name.items()})
    types = {output.column: output.type for node in spec.nodes for output in node.outputs}
    return _picture(spec, [by_name[name] for name in order], types, (), note)


def _picture(
    spec: EnsembleSpec,
    order: Sequence[NodeSpec],
    types: Mapping[str, Type | None],
    stages: tuple[StageBox, ...],
    note: str,
) -> Picture:
    names = names_of(spec, doubts(spec, ()))
    outputs = names.outputs(spec)
    known = {**dict(spec.inputs), **types}
    flows = _flows(order, names, outputs)
    judged = {reader for flow in flows for reader, role in flow.readers if role == CONDITION}
    figures = (
        _row(ROW_IN, "row in", [column for column, _ in spec.inputs], known),
        *(_figure(node, known, node.name in judged) for node in order),
        _row(ROW_OUT, "row out", outputs, known),
    )
    return Picture(spec.name, " ".join(spec.description.split()), note, figures, flows, stages)


def _flows(order: Sequence[NodeSpec], names: Names, outputs: Sequence[str]) -> tuple[Flow, ...]:
    """Returns the flows; the columns of one figure with the same readers are one."""
    readers: dict[str, list[tuple[str, str]]] = {column: [] for column in names.columns()}
    for node in order:
        for column in node.all_columns:
            if column in node.columns or column not in node.when_columns:
                readers[column].append((node.name, DATA))
            if column in node.when_columns:
                readers[column].append((node.name, CONDITION))
    for column in outputs:
        readers[column].append((ROW_OUT, DATA))
    together: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for column, found in readers.items():
        if found:
            source = names.makers.get(column, ROW_IN)
            together.setdefault((source, tuple(found)), []).append(column)
    flows = [Flow(source, tuple(columns), found) for (source, found), columns in together.items()]
    shadows = [node for node in order if node.shadow_of is not None]
    flows += [Flow(str(node.shadow_of), (), ((node.name, COMPARISON),)) for node in shadows]
    return tuple(flows)


def _row(name: str, title: str, columns: Sequence[str], types: Mapping[str, Type | None]) -> Figure:
    about = [_typed(column, types) for column in columns]
    more = len(about) - _MOST_COLUMNS
    lines = about if more <= 1 else [*about[:_MOST_COLUMNS], f"and {more} more"]
    return Figure(name, ROW, title, tuple(lines), (title, *about))


def _figure(node: NodeSpec, types: Mapping[str, Type | None], condition_is_on_a_line: bool) -> Figure:
    kind = f"{node.kind}: {node.target}"
    notes = [f"{key}: {node.options[key]}" for key in _NOTED if key in node.options]
    notes += [f"{key}: {value}" for key, value in node.resources.items()]
    if node.on_error is not None:
        notes.append(f"on_error: {node.on_error.action}")
    if node.when is not None and not condition_is_on_a_line:
        notes.append(f"when {node.when}")
    about = [f"{node.name} ({kind})"]
    about += [f"reads {_typed(column, types)}" for column in node.all_columns]
    about += [f"adds {_typed(output.column, types)}" for output in node.outputs]
    about += [f"when {node.when}"] if node.when is not None else []
    about += [f"shadow of {node.shadow_of}"] if node.shadow_of is not None else []
    about += notes
    return Figure(
        name=node.name,
        shape=node.kind,
        title=node.name,
        lines=(kind, *notes),
        about=tuple(dict.fromkeys(about)),
        condition=node.when if node.when is not None and condition_is_on_a_line else "",
        is_shadow=node.shadow_of is not None,
    )


def _typed(column: str, types: Mapping[str, Type | None]) -> str:
    type_ = types.get(column)
    return column if type_ is None else f"{column}: {type_}"
