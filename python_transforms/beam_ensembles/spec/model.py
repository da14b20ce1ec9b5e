"""What an ensemble file says, as frozen values: no file was opened and no name was looked up yet."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

from beam_ensembles.spec.places import below
from beam_ensembles.types import Type

OptionsOf = Callable[[str, str], Mapping[str, str]]
"""Returns what each option of a kind accepts, by name, for one of ``KINDS`` and its value there; none for no such kind.

Four options name columns, and mean the same on each kind that takes them: ``select`` (a mapping) and ``cases`` (a
list) hold expressions, ``key`` (columns) and ``passthrough`` (a list) names.
"""

KINDS: Final = ("model", "combine", "route", "apply")
"""The keys of which a node has exactly one; its value names what the node runs."""

ON_ERROR: Final = ("fail_row", "nullify", "default", "fail")
"""What can become of a row that a node fails on."""


@dataclasses.dataclass(frozen=True, slots=True)
class Inputs:
    """What a node reads.

    Attributes:
        columns: The columns, in the order of the file.
        ports: For a mapping the argument's name of each column, as many as there are columns; None for a list,
            which is one argument (a model) or the members (a combiner).
        passed: How many of the columns, the last ones, are those of ``passthrough``.
        places: The place below its node of each column, where expressions read some of them.
    """

    columns: tuple[str, ...]
    ports: tuple[str, ...] | None = None
    passed: int = 0
    places: tuple[str, ...] = ()

    def path(self, index: int) -> str:
        """Returns the place of a column below its node: ``inputs[0]``, ``inputs.X`` or ``passthrough[0]``."""
        if self.places:
            return self.places[index]
        listed = len(self.columns) - self.passed
        if index >= listed:
            return below("passthrough", index - listed)
        return below("inputs", index if self.ports is None else self.ports[index])


@dataclasses.dataclass(frozen=True, slots=True)
class OutputSpec:
    """One column that a node adds.

    Attributes:
        column: The column's name.
        port: The name under which the model gives it (``from``), or None: the column's name, else the only port.
        type: The declared type, or None where the model's signature or the kind determines it.
        key: The node's key that it stands under: ``outputs`` or ``select``.
    """

    column: str
    port: str | None = None
    type: Type | None = None
    key: str = "outputs"


@dataclasses.dataclass(frozen=True, slots=True)
class OnError:
    """A node's policy for rows that it fails on.

    Attributes:
        action: One of ``ON_ERROR``: the row fails, the node's columns are null for it or defaults, or the bundle fails.
        defaults: The value of each of the node's columns, where the action is ``default``.
    """

    action: str = "fail_row"
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node of the file.

    Attributes:
        name: The node's name.
        kind: Which of ``KINDS`` it is.
        target: The value of that key, such as ``sklearn`` or ``soft_vote``.
        inputs: What it reads; None where the file says nothing.
        outputs: The columns that it adds, in the order of the file.
        options: All other keys of the node as the file has them (``uri``, ``method``, ``weights``, ``config``, ...),
            parameters filled in.
        when: The condition under which it runs for a row, or None.
        when_columns: The columns that the condition reads.
        on_error: The policy for rows that it fails on; None where the file says nothing.
        shadow_of: The node that it runs beside and is compared with, or None.
        tolerance: By how much numbers of a shadow may differ and still agree.
        own_stage: Whether it asks for a stage of its own.
        resources: What its worker must have, by the names of Beam's resource hints.
        isolated: Whether it runs in a process of its own, which can be killed.
    """

    name: str
    kind: str
    target: str
    inputs: Inputs | None
    outputs: tuple[OutputSpec, ...]
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    when: str | None = None
    when_columns: tuple[str, ...] = ()
    on_error: OnError | None = None
    shadow_of: str | None = None
    tolerance: float = 0.0
    own_stage: bool = False
    resources: Mapping[str, str] = dataclasses.field(default_factory=dict)
    isolated: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that what it runs reads."""
        return self.inputs.columns if self.inputs is not None else ()

    @property
    def file(self) -> str | None:
        """The file that it names, as it names it: its model's ``uri``, or a function's ``file``."""
        named = self.options.get("uri", self.options.get("file"))
        return named if isinstance(named, str) else None

    @property
    def all_columns(self) -> tuple[str, ...]:
        """The columns that it reads, those of its condition among them."""
        return tuple(dict.fromkeys((*self.columns, *self.when_columns)))

    def path(self, *keys: str) -> str:
        """Returns the place of something below this node: ``path("uri")`` is ``nodes.forest.uri``."""
        return ".".join(("nodes", self.name, *keys))


@dataclasses.dataclass(frozen=True, slots=True)
class RefreshGate:
    """By how much a new version in a running pipeline may differ from the lock.

    Attributes:
        max_label_changes: The share of golden rows that may have another label; None where the file does not say.
        max_shift: By how much the numbers of an output may differ, by column; of others by any amount.
    """

    max_label_changes: float | None = None
    max_shift: Mapping[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class ProfileSpec:
    """The file that says what the inputs were like when it was learned.

    Attributes:
        uri: The file, as the ensemble file names it.
        sha256: SHA-256 of the file, 64 hexadecimal digits; None: any.
    """

    uri: str
    sha256: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class EnsembleSpec:
    """A parsed ensemble file.

    Attributes:
        name: The ensemble's name.
        description: Free text, or empty.
        inputs: The columns that are read from the incoming row, with their types.
        nodes: The nodes in the order of the file.
        outputs: The columns to add to the row; None: those that no node reads.
        disabled: The nodes that ``enabled`` takes out, with their columns; they are not among ``nodes``.
        base_uri: What relative URIs in the file are relative to; None where there is nothing.
        text: The file's text as it was read.
        parameters: The names of all ``${name}`` in the file, sorted.
        truncated: The inputs whose points in time lose their nanoseconds.
        gate: The gate that a new version must pass in a running pipeline, or None.
        defaults: What the file says itself of its parameters, as texts.
        profile: What the inputs are compared with while the ensemble runs, if anything.
    """

    name: str
    description: str
    inputs: tuple[tuple[str, Type], ...]
    nodes: tuple[NodeSpec, ...]
    outputs: tuple[str, ...] | None
    base_uri: str | None
    text: str
    disabled: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    parameters: tuple[str, ...] = ()
    truncated: frozenset[str] = frozenset()
    gate: RefreshGate | None = None
    defaults: Mapping[str, str] = dataclasses.field(default_factory=dict)
    profile: ProfileSpec | None = None
