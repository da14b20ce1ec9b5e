"""What the graph's checks need to know about a kind of node, and what a kind gets to check itself.

A kind is one value of a node's ``model``, ``combine``, ``route`` or ``apply`` key. ``handlers``,
``combiners`` and so on hold them; the checks take the table of all kinds as an argument, so that this package knows
none of them.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Final, Generic, Protocol

import numpy as np

from beam_ensembles.errors import EnsembleError, Problem
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph.class_meanings import Meaning, check_positions
from beam_ensembles.graph.options import Mistake, Option, Options, declared_options, read_options
from beam_ensembles.graph.shared_options import NullOptions
from beam_ensembles.spec.model import NodeSpec, OnError, OptionsOf
from beam_ensembles.types import Type

Columns = Mapping[str, np.ndarray]
"""Column name to its values: one leading item per row; objects (text, bytes, lists) in an array of dtype object.

A column of nullable type may have a companion, ``validity(name)``: which of its rows have a value. The values of the
other rows have the column's dtype and mean nothing. Without a companion all rows have a value.
"""


def validity(column: str) -> str:
    """Returns the name of a column's companion that says which rows have a value; no column can have such a name."""
    return f"{column}?"


def valid_rows(columns: Columns, name: str) -> np.ndarray:
    """Returns which rows of a column have a value: an array of truth values, one per row."""
    found = columns.get(validity(name))
    return np.ones(len(columns[name]), dtype=np.bool_) if found is None else found


class Member(Protocol):
    """A loaded node: reads columns of some rows and gives columns of the same rows.

    It is called with the columns of ``inputs``, all of the same length, without a null unless its kind takes nulls; it
    gives every column of ``outputs`` with as many items. Whatever it raises is that of all its rows: the caller splits
    the batch to find the bad ones.

    A member that may make far more of a row than the row has can tell before: its ``bytes_made(columns)`` returns the
    bytes of each row's outputs, and a stage that drops them again calls it with few rows at a time.
    """

    def __call__(self, columns: Columns) -> Columns:
        """Computes the node's columns."""


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    O_co = TypeVar("O_co", bound=Options, covariant=True, default=Options)
else:
    O_co = typing.TypeVar("O_co", bound=Options, covariant=True)


@dataclasses.dataclass(frozen=True, slots=True)
class NodeView(Generic[O_co]):
    """A node as its kind sees it when it is checked.

    Attributes:
        spec: The node, without keys that are known to be wrong.
        options: Its own keys; one that it lacks, or that is known to be wrong, has its default.
        inputs: Type of each column that it reads; a column that nobody makes is absent (reported already),
            one whose type is not known because of another mistake is None.
        files: Resolves and opens what the node's URIs name.
        report: Takes a problem; the kind goes on to find more.
        makers: The node that makes each column that it reads; an input of the ensemble has none.
        warn: Takes what could not be checked now but may well be right; it stops nothing.
        note: Takes what the model's file says about how it runs, and people may want to know: no sentence, no dot.
        meanings: The known meanings of the columns that it reads.
        tell: Takes what the node's model says of a column that it gives.
        wrong: Its own keys that are known to be wrong (reported already), and so have their defaults.
    """

    spec: NodeSpec
    options: O_co
    inputs: Mapping[str, Type | None]
    files: Files
    report: Callable[[Problem], None]
    makers: Mapping[str, NodeSpec] = dataclasses.field(default_factory=dict)
    warn: Callable[[Problem], None] = lambda _: None
    note: Callable[[str], None] = lambda _: None
    meanings: Mapping[str, Meaning] = dataclasses.field(default_factory=dict)
    tell: Callable[[str, Meaning], None] = lambda _, __: None
    wrong: Set[str] = frozenset()

    def problem(self, code: str, keys: str, message: str) -> None:
        """Reports a problem at a place below the node, such as ``inputs[1]`` or ``weights``."""
        self.report(Problem(self.spec.path(keys) if keys else self.spec.path(), code, message))

    def warning(self, code: str, keys: str, message: str) -> None:
        """Warns, at a place below the node, of what could not be checked now."""
        self.warn(Problem(self.spec.path(keys) if keys else self.spec.path(), code, message))


@dataclasses.dataclass(frozen=True, slots=True)
class CheckedNode(Generic[O_co]):
    """A node whose names, types and files are settled; what a worker loads.

    Attributes:
        spec: The node as the file has it.
        kind: Its kind.
        inputs: Type of each column that it reads.
        outputs: Type of each column that it adds.
        uri: Absolute place of its model, or of the file that a function reads, or None.
        ensemble: Name of the ensemble.
        is_trusted: Whether the model lies under a place whose files may hold code.
        condition: Type of each column that its ``when`` reads.
        on_error: The policy for rows that it fails on.
        takes_nulls: Whether what it runs reads nullable columns with their nulls.
        compared: For a shadow the pairs of its own columns and those of the node beside it.
        makers: The node that makes each column that it reads; an input of the ensemble has none.
        files: Where the node's other URIs are, and which hosts the rows themselves may name.
        notes: What its kind says about how it runs, for people.
        meanings: The known meanings of the columns that it reads.
        told: The known meanings of the columns that it adds, before it is loaded.
        options: Its own keys, and the defaults of those that it lacks.
    """

    spec: NodeSpec
    kind: Kind[O_co] = dataclasses.field(compare=False)
    inputs: Mapping[str, Type]
    outputs: Mapping[str, Type]
    uri: str | None = None
    ensemble: str = ""
    is_trusted: bool = False
    condition: Mapping[str, Type] = dataclasses.field(default_factory=dict)
    on_error: OnError = dataclasses.field(default_factory=OnError)
    takes_nulls: bool = False
    compared: tuple[tuple[str, str], ...] = ()
    makers: Mapping[str, NodeSpec] = dataclasses.field(default_factory=dict)
    files: Files = dataclasses.field(default_factory=Files)
    notes: tuple[str, ...] = ()
    meanings: Mapping[str, Meaning] = dataclasses.field(default_factory=dict)
    told: Mapping[str, Meaning] = dataclasses.field(default_factory=dict)
    options: O_co = dataclasses.field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", self.kind.read(self.spec))

    @property
    def namespace(self) -> str:
        """The namespace of its metrics."""
        return f"{self.ensemble}/{self.spec.name}"


ROWS_OF_A_CALL: Final = 4_096
"""``Kind.call_rows`` of networks, which keep much more of a row than the row and the answer have while they look at it;
batches from Go and Java are four times as large. Trees and linear models keep little, and need less time a row."""


class Work(enum.Enum):
    """What a call of a node keeps busy, so that others may run beside it."""

    LIGHT = "a few operations of numpy or Python: no thread is worth it"
    ONE_CORE = "one core or few"
    ALL_CORES = "all cores, a GPU, or nobody knows"
    ELSEWHERE = "another machine"


@dataclasses.dataclass(frozen=True, slots=True)
class Distribution:
    """An installed distribution that adds kinds."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class UnusableKind(EnsembleError):
    """A kind that an installed distribution adds cannot be used.

    Args:
        code: ``duplicate_kind`` or ``broken_plugin``.
        message: Names the fault, the distribution and the remedy.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class Kind(abc.ABC, Generic[O_co]):
    """One kind of node: how it is described, checked and loaded.

    Stateless: an object has nothing that its class and its name do not say. Imports no framework but in ``load``.
    """

    kind: str
    """Which of the node's four keys names it: ``model``, ``combine``, ``route`` or ``apply``."""
    name: str
    """Its value there, such as ``sklearn``."""
    summary: str
    """One sentence for people."""
    takes: str
    """What its ``inputs`` mean, for people."""
    gives: str
    """What its ``outputs`` can take, by which name, for people."""
    options: type[O_co]
    """The keys that it takes on its node besides ``inputs`` and ``outputs``, as the fields of a class."""
    extra: str | None = None
    """The extra of the distribution that installs what it needs, or None."""
    modules: tuple[str, ...] = ()
    """The modules that must be importable on a worker; ``one|other`` is either of them."""
    takes_nulls: bool = False
    """Whether it reads nullable columns with their nulls; for the others a row with a null in an input fails before.

    A kind whose options are ``NullOptions`` does where a node says ``nulls: missing`` (``reads_nulls``). Such a kind
    sees nullable types in ``NodeView.inputs`` and companions (``validity``) in the columns of its member.
    """
    work: Work = Work.LIGHT
    """What a call keeps busy on the worker."""
    members_have_places: bool = False
    """Whether a combiner's inputs are parts of what it makes, such as features, each in its place.

    Otherwise they are rival answers: an evaluation compares them with each other, and leaves one out.
    """
    gives_features: bool = False
    """Whether a combiner's output is for a model behind it, and no answer that an evaluation compares with a label."""
    call_rows: int | None = None
    """The most rows of one call where the node does not say how many; None: as many as there are."""
    distribution: Distribution | None = None
    """The distribution that adds it; None: this project. The table of kinds sets it."""

    @abc.abstractmethod
    def check(self, node: NodeView[O_co]) -> Mapping[str, Type | None]:
        """Checks a node and settles the type of each column of its ``outputs``.

        A type is None where it could not be settled because of a problem that has been reported.
        """

    @abc.abstractmethod
    def load(self, node: CheckedNode[O_co]) -> Member:
        """Loads the node on a worker; here and only here may a framework be imported."""

    def meanings(self, node: NodeView[O_co]) -> Mapping[str, Meaning] | None:
        """Compares what is known of a node's inputs, and returns what follows for its outputs.

        Called when the ensemble is checked, and by workers with what the loaded models say. Unless a combiner says
        otherwise, it goes by the position of scores: inputs whose classes stand in different orders are reported
        (``class_meanings.check_positions``), since it would mix scores of different classes.

        Returns:
            None: What the outputs mean does not follow from the inputs.
        """
        if self.kind == "combine":
            check_positions(node)
        return None

    def arms(self, node: NodeView[O_co]) -> Sequence[str]:
        """Returns the texts that the node's column can have, where it chooses an arm; called when all is right."""
        return ()

    def files_beside(self, path: str) -> Sequence[str]:
        """Returns the files beside a model's file that belong to it, relative to its folder.

        Raises:
            ModelFormatError: The file is no such model.
            OSError: It cannot be read.
        """
        return ()

    def is_on_hub(self, uri: str) -> bool:
        """Whether a URI names a model on a hub, from whose cache workers load it."""
        return False

    def cached(self, uri: str, revision: str | None) -> str:
        """Returns the folder of a model on a hub in this machine's cache; nothing is downloaded.

        Raises:
            EnsembleError: It is not there.
        """
        raise NotImplementedError

    def is_tried(self, node: CheckedNode[O_co]) -> bool:
        """Whether a loaded model is asked made-up rows, where the node does not forbid it."""
        return True

    def missing_libraries(self) -> str | None:
        """Return which libraries that no extra installs are missing on this machine, and where they come from.

        Imports nothing. None: Nothing is missing.
        """
        return None

    def batch_rows(self, node: CheckedNode[O_co]) -> int:
        """Returns how many rows a batch should have, where there are so many, so that the node waits for little."""
        return 1

    @property
    def keys(self) -> tuple[Option, ...]:
        """What its ``options`` declare."""
        return declared_options(self.options)

    def read(self, node: NodeSpec) -> O_co:
        """Returns the own keys of one of its nodes as an object of its ``options``."""
        return read_options(self.options, node.options)

    @property
    def distribution_name(self) -> str:
        """The name of the distribution that has it, whose ``extra`` installs what it needs."""
        return self.distribution.name if self.distribution is not None else "beam-ensembles"

    @property
    def needs_pytorch(self) -> bool:
        """Whether its nodes call PyTorch."""
        return "torch" in self.modules


def takes_missing(options: Options) -> bool:
    """Whether a node says that a null is a missing value to its model."""
    return isinstance(options, NullOptions) and options.nulls == "missing"


def mistakes_of(node: NodeView) -> list[Mistake]:
    """Returns the wrong values of a node's own keys (``Options.mistakes``)."""
    return list(node.options.mistakes())


def reads_nulls(kind: Kind, node: NodeSpec) -> bool:
    """Whether a node of a kind reads nullable columns with their nulls."""
    return kind.takes_nulls or takes_missing(kind.read(node))


Kinds = Mapping[tuple[str, str], Kind]
"""All kinds by (``model``, ``sklearn``)."""


def options_of(kinds: Kinds) -> OptionsOf:
    """Returns what knows the options of all kinds."""

    def find(key: str, name: str) -> Mapping[str, str]:
        try:
            kind = kinds.get((key, name))
        except UnusableKind:  # reported where the node is checked
            kind = None
        return {} if kind is None else {option.name: option.accepts for option in kind.keys}

    return find


def added_by(nodes: Iterable[CheckedNode]) -> dict[str, str]:
    """Returns the versions of the distributions that add the kinds of nodes, by name; not this project's."""
    found = {node.kind.distribution for node in nodes if node.kind.distribution is not None}
    return {one.name: one.version for one in sorted(found, key=str)}
