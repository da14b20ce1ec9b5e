"""A lock as text that people review: written in one order, and read without trust."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any, Final, TypeVar

import yaml

from beam_ensembles.errors import EnsembleError
from beam_ensembles.spec.document import read_document

FORMAT: Final = 1
_HEAD: Final = """\
# What this ensemble promises. Written by 'beam-ensembles lock', compared by 'beam-ensembles check' and 'diff'.
# To accept a change, lock again and review the difference.
"""
_WIDTH: Final = 110
_T = TypeVar("_T")


class BadLock(EnsembleError):
    """A file is not a lock, or one that this version cannot read."""


@dataclasses.dataclass(frozen=True, slots=True)
class ColumnLock:
    """A column that readers rely on.

    Attributes:
        type: Its type, as the ensemble file writes types.
        labels: The classes that it is about, in order; None where they are not known.
    """

    type: str
    labels: tuple[Any, ...] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class NodeLock:
    """A node.

    Attributes:
        runs: What it runs, such as ``model: sklearn``.
        definition: Digest of what the file says of it.
        file: The URI of its model, or None.
        reads: The columns that it and its ``when`` read.
        libraries: The version of each library that it needs.
        outputs: The columns that it adds.
    """

    runs: str
    definition: str
    file: str | None = None
    reads: tuple[str, ...] = ()
    libraries: Mapping[str, str] = dataclasses.field(default_factory=dict)
    outputs: Mapping[str, ColumnLock] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class GoldenLock:
    """The golden rows.

    Attributes:
        sha256: Digest of their file.
        rows: How many there are.
        sampled_from: How many rows they were drawn from.
        batch_sizes: How many rows were scored at once while the tolerance was measured.
        tolerance: By how much of its size a number of each column may differ and still be the same.
    """

    sha256: str
    rows: int
    sampled_from: int
    batch_sizes: tuple[int, ...]
    tolerance: Mapping[str, float]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """What an ensemble was when it was locked.

    Attributes:
        ensemble: Its name.
        parameters: The values of ``${name}``.
        inputs: The columns that it reads, with their types.
        outputs: The columns that it adds.
        nodes: Its nodes by name, in the order in which they run.
        files: Digest of the file of each model, by its URI.
        data: Digest of each other local file that nodes read, such as the database of a lookup.
        environment: Versions of Python, Beam, numpy and this package.
        golden: The golden rows.
    """

    ensemble: str
    parameters: Mapping[str, str]
    inputs: Mapping[str, str]
    outputs: Mapping[str, ColumnLock]
    nodes: Mapping[str, NodeLock]
    files: Mapping[str, str]
    data: Mapping[str, str]
    environment: Mapping[str, str]
    golden: GoldenLock

    def to_text(self) -> str:
        """Returns it as YAML; equal locks have equal texts."""
        data = {
            "format": FORMAT,
            "ensemble": self.ensemble,
            "parameters": dict(sorted(self.parameters.items())),
            "inputs": dict(self.inputs),
            "outputs": {name: _column(one) for name, one in self.outputs.items()},
            "nodes": {name: _node(one) for name, one in self.nodes.items()},
            "files": dict(sorted(self.files.items())),
            "data": dict(sorted(self.data.items())),
            "environment": dict(sorted(self.environment.items())),
            "golden": {
                **dataclasses.asdict(self.golden),
                "batch_sizes": list(self.golden.batch_sizes),
                "tolerance": dict(self.golden.tolerance),
            },
        }
        whole = {key: value for key, value in data.items() if value not in ({}, [])}
        return _HEAD + yaml.safe_dump(
            whole, sort_keys=False, default_flow_style=None, width=_WIDTH, allow_unicode=True
        )


def _column(column: ColumnLock) -> Any:
    if column.labels is None:
        return {"type": column.type}
    return {"type": column.type, "labels": list(column.labels)}


def _node(node: NodeLock) -> dict[str, Any]:
    found = {
        "runs": node.runs,
        "definition": node.definition,
        "file": node.file,
        "reads": list(node.reads),
        "libraries": dict(sorted(node.libraries.items())),
        "outputs": {name: _column(one) for name, one in node.outputs.items()},
    }
    return {key: value for key, value in found.items() if value not in (None, [], {})}


def parse_lock(text: str, path: str) -> Lock:
    """Reads a lock.

    Args:
        text: Its text.
        path: Its name, for messages.

    Raises:
        BadLock: It is none, or of a newer format.
    """
    found = read_document(text)
    if found.problems:
        raise BadLock(
            f"'{path}' is not a lock: {found.problems[0].message}; make it with 'beam-ensembles lock'"
        )
    reader = _Reader(path)
    top = reader.mapping(found.data, "the file")
    version = top.get("format")
    if version != FORMAT:
        newer = isinstance(version, int) and not isinstance(version, bool) and version > FORMAT
        todo = "update beam-ensembles here" if newer else "make it with 'beam-ensembles lock'"
        raise BadLock(f"'{path}' is not a lock of format {FORMAT}, which this version reads; {todo}")
    golden = reader.mapping(top.get("golden"), "golden")
    return Lock(
        ensemble=reader.value(top, "ensemble", str),
        parameters=reader.texts(top, "parameters"),
        inputs=reader.texts(top, "inputs"),
        outputs=reader.columns(top, "outputs"),
        nodes={
            name: reader.node(reader.mapping(one, f"nodes.{name}"))
            for name, one in reader.optional(top, "nodes").items()
        },
        files=reader.texts(top, "files"),
        data=reader.texts(top, "data"),
        environment=reader.texts(top, "environment"),
        golden=GoldenLock(
            sha256=reader.value(golden, "sha256", str),
            rows=reader.value(golden, "rows", int),
            sampled_from=reader.value(golden, "sampled_from", int),
            batch_sizes=tuple(reader.items(golden, "batch_sizes", int)),
            tolerance={
                name: reader.number(one, f"golden.tolerance.{name}")
                for name, one in reader.optional(golden, "tolerance").items()
            },
        ),
    )


class _Reader:
    """Reads values of a lock, each of the type that it must have.

    Args:
        path: The lock's name.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def checked(self, value: Any, place: str, *types: type) -> Any:
        """Returns a value that is of one of some types."""
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise BadLock(f"'{self._path}' is damaged at '{place}'; make it again with 'beam-ensembles lock'")
        return value

    def number(self, value: Any, place: str) -> float:
        """Returns a value that is a finite number of at least 0."""
        found = self.checked(value, place, int, float)
        if not 0 <= found <= sys.float_info.max:
            self.checked(None, place, float)
        return float(found)

    def mapping(self, value: Any, place: str) -> Mapping[str, Any]:
        """Returns a value that is a mapping."""
        found: Mapping[str, Any] = self.checked(value, place, dict)
        return found

    def optional(self, of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """Returns a mapping, empty where there is none."""
        return self.mapping(of.get(key, {}), key)

    def value(self, of: Mapping[str, Any], key: str, type_: type[_T]) -> _T:
        """Returns the value of a key."""
        found: _T = self.checked(of.get(key), key, type_)
        return found

    def items(self, of: Mapping[str, Any], key: str, *types: type) -> list[Any]:
        """Returns the items of a list."""
        return [self.checked(one, key, *types) for one in self.value(of, key, list)]

    def texts(self, of: Mapping[str, Any], key: str) -> dict[str, str]:
        """Returns a mapping to texts, empty where there is none."""
        return {name: self.checked(one, f"{key}.{name}", str) for name, one in self.optional(of, key).items()}

    def columns(self, of: Mapping[str, Any], key: str) -> dict[str, ColumnLock]:
        """Returns columns by name."""
        return {
            name: self._column(self.mapping(one, f"{key}.{name}"))
            for name, one in self.optional(of, key).items()
        }

    def _column(self, of: Mapping[str, Any]) -> ColumnLock:
        labels = tuple(self.items(of, "labels", str, int, bool)) if "labels" in of else None
        return ColumnLock(self.value(of, "type", str), labels)

    def node(self, of: Mapping[str, Any]) -> NodeLock:
        """Returns a node."""
        file = self.value(of, "file", str) if "file" in of else None
        runs, definition = self.value(of, "runs", str), self.value(of, "definition", str)
        reads = tuple(self.items(of, "reads", str)) if "reads" in of else ()
        return NodeLock(
            runs, definition, file, reads, self.texts(of, "libraries"), self.columns(of, "outputs")
        )
