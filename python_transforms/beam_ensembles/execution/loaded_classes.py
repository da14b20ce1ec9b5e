"""What the loaded models of a stage say of their columns, and the nodes that go by it.

A stage may run behind others whose models say something too: that comes with their batches. Nodes that need it are
loaded anew where a batch brings other meanings than the ensemble's check found; they hold no model.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles.errors import BatchFailed, EnsembleError, InvalidEnsemble, Problem
from beam_ensembles.execution.node_steps import NodeStep
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph.class_meanings import (
    Meaning,
    contradiction,
    declared,
    meanings_of,
)
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member, NodeView
from beam_ensembles.handlers.support.load_failures import reason
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.processes.machine import Machine

_LOGGER: Final = logging.getLogger(__name__)
_MOST_KEPT: Final = 8
"""Batches of so many versions of the stages before, at most, find their steps at hand."""


@dataclasses.dataclass(frozen=True, slots=True)
class Settled:
    """The steps of a stage for batches whose columns mean the same.

    Attributes:
        steps: A step for each node.
        meanings: The known meanings of the columns behind the stage.
    """

    steps: Sequence[NodeStep]
    meanings: Mapping[str, Meaning]


class StepsByMeaning:
    """The steps of a stage, for whatever the columns of a batch mean.

    Args:
        steps: The loaded steps.
        machine: What this process has of its machine.

    Raises:
        InvalidEnsemble: What the models say does not go together (``label_mismatch``).
    """

    def __init__(self, steps: Sequence[NodeStep], machine: Machine) -> None:
        self._steps, self._machine = steps, machine
        self._kept: dict[frozenset[tuple[str, Meaning]], Settled] = {}
        self.settled({})

    def settled(self, given: Mapping[str, Meaning]) -> Settled:
        """Returns the steps for a batch.

        Args:
            given: What the models of the stages before say of its columns.

        Raises:
            InvalidEnsemble: That does not go together.
        """
        key = frozenset(given.items())
        found = self._kept.get(key)
        if found is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            found = self._kept[key] = self._settle(given)
        return found

    def _settle(self, given: Mapping[str, Meaning]) -> Settled:
        known, steps = dict(given), []
        for step in self._steps:
            step, found = _passed(step, known, self._machine)
            if found is None:
                found = _loaded(step.node, step.member)
            known.update(found)
            steps.append(step)
        return Settled(steps, known)


def _loaded(node: CheckedNode, member: Member) -> Mapping[str, Meaning]:
    """Returns what is known of a model's columns, once it is loaded.

    Raises:
        InvalidEnsemble: The node's labels contradict the model's own classes (``signature_mismatch``).
    """
    wrong = contradiction(node.spec, meanings_of(member))
    if wrong is not None:
        problem = Problem(node.spec.path("labels"), "signature_mismatch", wrong)
        raise InvalidEnsemble([problem], ensemble=node.ensemble)
    found = dict(node.told)
    for column, meaning in meanings_of(member).items():
        refused = found[column].refused if column in found else ""
        found[column] = dataclasses.replace(meaning, refused=refused)
    return {
        column: dataclasses.replace(meaning, is_open=False)
        for column, meaning in declared(node.spec, found).items()
    }


def _passed(
    step: NodeStep, known: Mapping[str, Meaning], machine: Machine
) -> tuple[NodeStep, Mapping[str, Meaning] | None]:
    """Returns the step of a node for what is known of its inputs, and what follows for its outputs, if it does."""
    now = {**step.node.meanings, **{column: known[column] for column in step.node.inputs if column in known}}
    node = dataclasses.replace(
        step.node, meanings={name: now[name] for name in step.node.inputs if name in now}
    )
    problems: list[Problem] = []
    view = NodeView(
        node.spec, node.options, node.inputs, Files(), problems.append, node.makers, meanings=node.meanings
    )
    passed = node.kind.meanings(view)
    if passed is None:
        return step, None
    if node.meanings == step.node.meanings:
        return step, node.told
    found = declared(node.spec, passed)
    try:
        if problems:
            raise InvalidEnsemble(problems, ensemble=node.ensemble)
        return step.renewed(node, load_member(node, machine)), found
    except Exception as error:
        if node.spec.shadow_of is None:
            raise
        return step.renewed(node, unloaded(node, error)), found


def unloaded(node: CheckedNode, error: BaseException) -> Member:
    """Returns the member of a shadow that cannot be loaded: every call of it fails with the reason."""
    said = str(error) if isinstance(error, EnsembleError) else reason(error)
    _LOGGER.warning("the shadow '%s' of ensemble '%s' is out: %s", node.spec.name, node.ensemble, said)
    return _Out(said)


@dataclasses.dataclass(frozen=True, slots=True)
class _Out:
    reason: str

    def __call__(self, columns: Columns) -> Columns:
        raise BatchFailed("load_failed", self.reason)
