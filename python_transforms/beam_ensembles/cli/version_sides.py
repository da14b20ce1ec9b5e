"""The two sides of ``check`` and ``diff``: an ensemble that runs, or what a lock has written down of one."""

from __future__ import annotations

import abc
from collections.abc import Mapping

from beam_ensembles.cli.locking import Loaded
from beam_ensembles.errors import EnsembleError
from beam_ensembles.locks.answers import Answers, answers_of, recorded_answers
from beam_ensembles.locks.behaviour import Compared
from beam_ensembles.locks.contract import contract_of
from beam_ensembles.locks.differences import Version
from beam_ensembles.locks.golden_rows import answer_field
from beam_ensembles.locks.lock_text import Lock
from beam_ensembles.locks.making import environment, node_locks
from beam_ensembles.tables.chunk import Chunk
from beam_ensembles.types import Type, TypeSyntaxError, parse_type


class Side(abc.ABC):
    """One of two versions.

    Attributes:
        name: What it is called.
        version: What describes it.
        tolerance: By how much of its size a number of each column may differ.
    """

    name: str
    version: Version
    tolerance: Mapping[str, float]

    @abc.abstractmethod
    def answers(self, chunk: Chunk) -> Answers:
        """Returns what it answers for some rows."""


class Running(Side):
    """An ensemble that runs.

    Args:
        ensemble: The ensemble, loaded.
    """

    def __init__(self, ensemble: Loaded) -> None:
        self.name, self.ensemble, self.tolerance = ensemble.name, ensemble, {}
        graph, stage, digests = ensemble.graph, ensemble.stage, ensemble.read()
        self.version = Version(
            graph.spec.name,
            contract_of(graph, stage),
            node_locks(graph, stage, digests),
            digests.files,
            digests.data,
            environment(),
        )

    def answers(self, chunk: Chunk) -> Answers:
        """Runs the rows."""
        return answers_of(self.ensemble.code, self.ensemble.stage, chunk)


class Recorded(Side):
    """What a lock has written down; its answers are those of its golden rows.

    Args:
        path: The lock's path.
        lock: The lock.
    """

    def __init__(self, path: str, lock: Lock) -> None:
        self.name, self.lock, self.tolerance = path, lock, lock.golden.tolerance
        self.version = Version.of_lock(lock)
        self.fields = {
            column: (answer_field(node, column), _type(path, said.outputs[column].type))
            for node, said in lock.nodes.items()
            for column in said.outputs
        }

    def answers(self, chunk: Chunk) -> Answers:
        """Reads the answers."""
        return recorded_answers(chunk, self.fields)


def _type(path: str, text: str) -> Type:
    try:
        return parse_type(text)
    except TypeSyntaxError as error:
        raise EnsembleError(
            f"'{path}' is damaged: {error}; make it again with 'beam-ensembles lock'"
        ) from error


def compared(old: Side, new: Side, *, absolute: float | None = None) -> Compared:
    """Returns what two versions have in common that can be compared."""
    makers = {column: node for column, node in new.version.makers.items() if column in old.version.makers}
    outputs = [name for name in new.version.contract.outputs if name in old.version.contract.outputs]
    scores = old.version.scores() & new.version.scores()
    alike = {name for name in scores if _labels(old, name) == _labels(new, name)}
    return Compared(
        makers=makers,
        outputs=[name for name in outputs if name in makers],
        nodes=new.version.nodes,
        scores=frozenset(alike),
        tolerance={**new.tolerance, **old.tolerance},
        absolute=absolute,
    )


def _labels(side: Side, column: str) -> object:
    return side.version.nodes[side.version.makers[column]].outputs[column].labels


def slices_of(chunk: Chunk, field: str) -> list[str]:
    """Returns the value of a field of each row as text."""
    return ["null" if one is None else _text(one) for one in chunk.column(field)]


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
