"""What differs between two versions of an ensemble: contract, nodes, files, libraries, and how they behave."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beam_ensembles.errors import EnsembleError, nearest
from beam_ensembles.locks.behaviour import Behaviour
from beam_ensembles.locks.contract import Change, Contract, changes
from beam_ensembles.locks.lock_text import Lock, NodeLock
from beam_ensembles.types import Array, Scalar, TypeSyntaxError, dtype_of, parse_type, row_shape

_NONE: Final = "none"


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """One version of an ensemble, as far as it can be described.

    Attributes:
        ensemble: The ensemble's name.
        contract: Its columns.
        nodes: Its nodes.
        files: Digest of the file of each model.
        data: Digest of each other file.
        environment: The versions of what it runs on.
    """

    ensemble: str
    contract: Contract
    nodes: Mapping[str, NodeLock]
    files: Mapping[str, str]
    data: Mapping[str, str]
    environment: Mapping[str, str]

    @classmethod
    def of_lock(cls, lock: Lock) -> Version:
        """Returns what a lock describes."""
        return cls(lock.ensemble, Contract.of_lock(lock), lock.nodes, lock.files, lock.data, lock.environment)

    @property
    def makers(self) -> dict[str, str]:
        """The node that makes each column."""
        return {column: name for name, node in self.nodes.items() for column in node.outputs}

    def scores(self) -> frozenset[str]:
        """Returns the columns that have a score per class."""
        found = set()
        for node in self.nodes.values():
            for name, column in node.outputs.items():
                if column.labels is not None and _width(column.type) == len(column.labels) > 1:
                    found.add(name)
        return frozenset(found)

    def has_labels(self) -> bool:
        """Whether an output has a label, or a score per class: something whose changes are those of a label."""
        outputs, scores = self.contract.outputs, self.scores()
        return any(name in scores or _is_label(column.type) for name, column in outputs.items())


def _is_label(text: str) -> bool:
    try:
        type_ = parse_type(text)
    except TypeSyntaxError:
        return False
    dtype = dtype_of(type_)
    return isinstance(type_, Scalar) and (dtype is None or dtype.kind != "f")


def _width(text: str) -> int:
    try:
        type_ = parse_type(text)
    except TypeSyntaxError:
        return 0
    dtype = dtype_of(type_)
    if not isinstance(type_, Array) or dtype is None or dtype.kind != "f" or len(row_shape(type_)) != 1:
        return 0
    return row_shape(type_)[0]


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs.

    Attributes:
        what: ``contract``, ``node``, ``file``, ``library``, ``data`` or ``environment``.
        name: What it is about: a column, a node, a URI, a library.
        text: The difference, in one sentence.
        old: What it was; empty where ``text`` says all.
        new: What it is.
        nodes: The nodes that it is about.
        breaks: Whether readers of the old version fail with the new one.
    """

    what: str
    name: str
    text: str
    old: str = ""
    new: str = ""
    nodes: tuple[str, ...] = ()
    breaks: bool = False

    @property
    def is_promised(self) -> bool:
        """Whether a lock promises that it stays: versions and data that is looked up may change."""
        return self.what in ("contract", "node", "file")


def differences(old: Version, new: Version) -> list[Difference]:
    """Returns what differs between the descriptions of two versions."""
    found = [_of_contract(one) for one in changes(old.contract, new.contract)]
    found += _of_nodes(old, new)
    found += _of_files(old, new)
    found += _of_libraries(old, new)
    for uri in sorted({*old.data, *new.data}):
        if old.data.get(uri) != new.data.get(uri):
            found.append(Difference("data", uri, f"the data in '{uri}' is other data"))
    for name in sorted({*old.environment, *new.environment}):
        before, after = old.environment.get(name, _NONE), new.environment.get(name, _NONE)
        if before != after:
            found.append(Difference("environment", name, f"{name} {before} -> {after}", before, after))
    return found


def _of_contract(change: Change) -> Difference:
    return Difference("contract", change.column, change.text, breaks=change.breaks)


def _of_nodes(old: Version, new: Version) -> Iterator[Difference]:
    for name, node in new.nodes.items():
        before = old.nodes.get(name)
        if before is None:
            yield Difference("node", name, f"node '{name}' ({node.runs}) is new", nodes=(name,))
        elif before.runs != node.runs:
            text = f"node '{name}' ran {before.runs} and runs {node.runs}"
            yield Difference("node", name, text, before.runs, node.runs, (name,))
        elif before.definition != node.definition:
            text = f"the file says something else of node '{name}'"
            yield Difference("node", name, text, nodes=(name,))
        elif columns := _changed_columns(before, node):
            yield Difference("node", name, f"node '{name}': {columns}", nodes=(name,))
    for name, node in old.nodes.items():
        if name not in new.nodes:
            yield Difference("node", name, f"node '{name}' ({node.runs}) is gone", nodes=(name,))


def _changed_columns(before: NodeLock, after: NodeLock) -> str:
    found = []
    for column, one in after.outputs.items():
        earlier = before.outputs.get(column)
        if earlier is not None and earlier.type != one.type:
            found.append(f"'{column}' was {earlier.type} and is {one.type}")
        elif earlier is not None and earlier.labels != one.labels:
            found.append(f"the model's classes of '{column}' are others, or in another order")
    return "; ".join(found)


def _of_files(old: Version, new: Version) -> Iterator[Difference]:
    for uri in sorted({*old.files, *new.files}):
        before, after = old.files.get(uri), new.files.get(uri)
        if before == after:
            continue
        nodes = tuple(
            dict.fromkeys(
                name
                for version in (old, new)
                for name, node in version.nodes.items()
                if node.file == uri and name in new.nodes
            )
        )
        text = (
            "is new" if before is None else "is not read any more" if after is None else "has other content"
        )
        yield Difference("file", uri, f"the file '{uri}' {text}", before or "", after or "", nodes)


def _of_libraries(old: Version, new: Version) -> Iterator[Difference]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for name, node in new.nodes.items():
        before = old.nodes.get(name)
        if before is None or before.runs != node.runs:
            continue
        for library in sorted({*before.libraries, *node.libraries}):
            versions = before.libraries.get(library, _NONE), node.libraries.get(library, _NONE)
            if versions[0] != versions[1]:
                found.setdefault((library, *versions), []).append(name)
    for (library, one, other), nodes in found.items():
        yield Difference("library", library, f"{library} {one} -> {other}", one, other, tuple(nodes))


def reasons(node: str, found: list[Difference]) -> list[str]:
    """Returns what is known to differ of a node itself."""
    return [one.text for one in found if node in one.nodes]


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """How much may differ.

    Attributes:
        label_changes: The share of rows that may have another label; None: any.
        shifts: By how much the numbers of an output may differ, by column.
    """

    label_changes: float | None = None
    shifts: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __bool__(self) -> bool:
        return self.label_changes is not None or bool(self.shifts)

    def beyond(self, behaviour: Behaviour) -> list[str]:
        """Returns in a sentence each what exceeds the limits.

        Raises:
            EnsembleError: A limit is on a column that the ensemble does not add, or that has no numbers, or on labels
                where no output has one.
        """
        found = []
        has_labels = any(one.is_output and one.relabelled is not None for one in behaviour.columns)
        if self.label_changes is not None and not has_labels:
            text = "the limit on changes of labels: no output has a label or a score per class"
            raise EnsembleError(f"{text}; limit the shift of its numbers instead")
        share = behaviour.relabelled / behaviour.rows if behaviour.rows else 0.0
        if self.label_changes is not None and share > self.label_changes:
            found.append(
                f"the label of {percent(share)} of the rows changed (limit {percent(self.label_changes)})"
            )
        known = {one.column: one for one in behaviour.columns}
        for column, most in self.shifts.items():
            one = known.get(column)
            if one is None:
                near = nearest(column, known)
                raise EnsembleError(f"the limit on '{column}': the ensemble has no such column{near}")
            if one.absent:
                found.append(f"'{column}' has a value in one version only on {one.absent:,} rows")
            elif one.largest is None and one.changed:
                raise EnsembleError(f"the limit on '{column}': its values are not numbers of one shape")
            elif one.largest is not None and one.largest > most:
                found.append(f"'{column}' shifted by up to {number(one.largest)} (limit {number(most)})")
        return found


def percent(share: float) -> str:
    """Returns a share as people read it: ``0.3%``, and never ``0%`` for one that is more than nothing."""
    if share and share < 0.001:
        return f"{share * 100:.2g}%"
    return f"{share * 100:.1f}%".replace(".0%", "%")


def number(value: float) -> str:
    """Returns a number as people read it."""
    return f"{value:.4g}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What differs between two versions.

    Attributes:
        old: What the old one is called.
        new: What the new one is called.
        found: What differs between their descriptions.
        behaviour: How their answers differ; None where they were not compared.
        not_compared: Why not.
        beyond: What exceeds the limits.
        quality: What of the quality changed, as pairs of a metric with its old and new value.
        better: Rows that the new version alone answers right; None without labels.
        worse: Rows that the old version alone answers right.
        by: The field of the slices, or empty.
    """

    old: str
    new: str
    found: tuple[Difference, ...]
    behaviour: Behaviour | None = None
    not_compared: str = ""
    beyond: tuple[str, ...] = ()
    quality: Mapping[str, tuple[float | None, float | None]] = dataclasses.field(default_factory=dict)
    better: int | None = None
    worse: int | None = None
    by: str = ""

    @property
    def is_same(self) -> bool:
        """Whether nothing differs that a lock promises; not where that could not be seen."""
        if self.not_compared:
            return False
        answers = self.behaviour is None or not (self.behaviour.changed or self.changed_inside)
        return answers and not any(one.is_promised for one in self.found)

    @property
    def changed_inside(self) -> bool:
        """Whether a column of a node differs."""
        return self.behaviour is not None and any(one.changed for one in self.behaviour.columns)

    def reasons(self, node: str) -> list[str]:
        """Returns what is known to differ of a node itself."""
        return reasons(node, list(self.found))

    def as_data(self) -> dict[str, Any]:
        """Returns it as plain data."""
        behaviour = self.behaviour
        return {
            "old": self.old,
            "new": self.new,
            "same": self.is_same,
            "beyond": list(self.beyond),
            "differences": [{**dataclasses.asdict(one), "nodes": list(one.nodes)} for one in self.found],
            "behaviour": None
            if behaviour is None
            else {
                "rows": behaviour.rows,
                "label_changes": behaviour.relabelled,
                "changed": behaviour.changed,
                "failed": {"old": behaviour.failed[0], "new": behaviour.failed[1]},
                "columns": [one.as_data() for one in behaviour.columns],
                "causes": [
                    {**dataclasses.asdict(one), "reasons": self.reasons(one.node)} for one in behaviour.causes
                ],
                "by": self.by or None,
                "slices": [dataclasses.asdict(one) for one in behaviour.slices],
            },
            "not_compared": self.not_compared or None,
            "quality": {
                name: {"old": before, "new": after} for name, (before, after) in self.quality.items()
            },
            "better": self.better,
            "worse": self.worse,
        }
