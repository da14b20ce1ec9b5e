"""What readers of an ensemble rely on, and which changes of it break them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from beam_ensembles.execution.loaded_stage import LoadedStage
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import EnsembleGraph
from beam_ensembles.graph.class_meanings import LABELS, SCORES, Meaning, shown
from beam_ensembles.graph.kinds import CheckedNode, NodeView
from beam_ensembles.locks.lock_text import ColumnLock, Lock
from beam_ensembles.types import Type, TypeSyntaxError, parse_type, widens

_CLASSES: Final = (LABELS, SCORES, "")
_TYPED: Final = "breaks readers in Go and Java that name it"
_EVERY: Final = "breaks readers that name it"
_ROWS: Final = "breaks pipelines whose rows lack it"


@dataclasses.dataclass(frozen=True, slots=True)
class Contract:
    """The columns of an ensemble.

    Attributes:
        inputs: Type of each column that it reads.
        outputs: The columns that it adds.
    """

    inputs: Mapping[str, str]
    outputs: Mapping[str, ColumnLock]

    @classmethod
    def of_lock(cls, lock: Lock) -> Contract:
        """Returns the contract of a lock."""
        return cls(lock.inputs, lock.outputs)


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One difference between two contracts.

    Attributes:
        column: The column.
        text: The difference, in one sentence.
        breaks: Whether code or rows made for the old contract fail with the new one.
    """

    column: str
    text: str
    breaks: bool


def contract_of(graph: EnsembleGraph, stage: LoadedStage) -> Contract:
    """Returns the contract of an ensemble whose models are loaded: they know classes that no file says."""
    columns = node_columns(stage.nodes, stage.meanings)
    return Contract(
        {name: str(type_) for name, type_ in graph.columns_read},
        {name: columns.get(name, ColumnLock(str(type_))) for name, type_ in graph.outputs},
    )


def node_columns(nodes: Sequence[CheckedNode], meanings: Mapping[str, Meaning]) -> dict[str, ColumnLock]:
    """Returns the columns of all nodes, with the classes that they are about."""
    found = {}
    for node in nodes:
        arms = tuple(_arms(node))
        for name, type_ in node.outputs.items():
            found[name] = ColumnLock(str(type_), _labels(meanings.get(name)) or arms or None)
    return found


def with_meanings(
    columns: Mapping[str, ColumnLock], meanings: Mapping[str, Meaning]
) -> dict[str, ColumnLock]:
    """Returns columns with the classes that loaded models know of them; the others stay as they are."""
    return {
        name: dataclasses.replace(column, labels=_labels(meanings.get(name)) or column.labels)
        for name, column in columns.items()
    }


def _labels(meaning: Meaning | None) -> tuple[Any, ...] | None:
    if meaning is None or meaning.classes is None or meaning.holds not in _CLASSES:
        return None
    return tuple(meaning.classes)


def _arms(node: CheckedNode) -> Sequence[str]:
    if node.spec.kind != "route":
        return ()
    view = NodeView(node.spec, node.options, node.inputs, Files(), lambda _: None, node.makers)
    return node.kind.arms(view)


def changes(old: Contract, new: Contract) -> list[Change]:
    """Returns what differs between two contracts, what breaks readers first."""
    found = [*_input_changes(old.inputs, new.inputs), *_output_changes(old.outputs, new.outputs)]
    return sorted(found, key=lambda one: not one.breaks)


def _input_changes(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Change]:
    for name, type_ in new.items():
        before = old.get(name)
        if before is None:
            yield Change(name, f"input '{name}' ({type_}) is new: {_ROWS}", breaks=True)
        elif before != type_:
            widened = _widens(before, type_)
            text = f"input '{name}' was {before} and is {type_}"
            yield Change(name, text if widened else f"{text}: breaks pipelines that send it", not widened)
    for name in old:
        if name not in new:
            yield Change(name, f"input '{name}' is not read any more", breaks=False)


def _output_changes(old: Mapping[str, ColumnLock], new: Mapping[str, ColumnLock]) -> Iterator[Change]:
    for name, column in old.items():
        after = new.get(name)
        if after is None:
            yield Change(name, f"'{name}' is gone: {_EVERY}", breaks=True)
            continue
        if after.type != column.type:
            yield Change(name, _retyped(name, column.type, after.type), breaks=True)
        if column.labels is not None and after.labels is not None and column.labels != after.labels:
            yield _relabelled(name, column.labels, after.labels)
    for name in new:
        if name not in old:
            yield Change(name, f"'{name}' ({new[name].type}) is new", breaks=False)
    kept = [name for name in old if name in new]
    if kept != [name for name in new if name in old]:
        yield Change(kept[0], "the outputs stand in another order: breaks readers that go by position", True)


def _retyped(name: str, before: str, after: str) -> str:
    if after == f"{before}?":
        return f"'{name}' became nullable: {_TYPED}"
    if before == f"{after}?":
        return f"'{name}' is not nullable any more: {_TYPED}"
    return f"'{name}' was {before} and is {after}: {_TYPED}"


def _relabelled(name: str, before: tuple[Any, ...], after: tuple[Any, ...]) -> Change:
    if set(before) == set(after):
        text = f"the classes of '{name}' stand in another order: {shown(after)}, not {shown(before)}"
        return Change(name, f"{text}: breaks readers that go by position", breaks=True)
    new, gone = [one for one in after if one not in before], [one for one in before if one not in after]
    said = [f"new: {shown(new)}"] if new else []
    said += [f"gone: {shown(gone)}"] if gone else []
    text = f"'{name}' has other classes ({'; '.join(said)})"
    return Change(name, f"{text}: breaks readers that name them", breaks=True)


def _widens(before: str, after: str) -> bool:
    old, new = _type(before), _type(after)
    return old is not None and new is not None and widens(old, new)


def _type(text: str) -> Type | None:
    try:
        return parse_type(text)
    except TypeSyntaxError:
        return None
