"""``switch``: the arm of the first case whose condition holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from beam_ensembles.errors import NodeError, listed
from beam_ensembles.graph.expressions.checks import check_condition
from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView
from beam_ensembles.graph.options import Options, option
from beam_ensembles.routes.arm_column import GIVES, settle_arm
from beam_ensembles.types import Type

if TYPE_CHECKING:
    from beam_ensembles.columns.expressions import Conditions


class SwitchOptions(Options):
    """The cases."""

    cases: list[dict[str, str]] = option(
        [], "Cases {when: condition, arm: name}; the first that holds counts.", required=True
    )
    default: str | None = option(
        None, "The arm where none holds.", shown="none: such a row fails with no_case"
    )


class SwitchKind(Kind[SwitchOptions]):
    """Returns the arm of the first of its cases that holds for a row."""

    kind = "route"
    name = "switch"
    summary = "Returns the arm of the first case whose condition holds for the row."
    takes = "Nothing to list: the columns that the conditions read are its inputs."
    gives = GIVES
    takes_nulls = True
    options = SwitchOptions

    def check(self, node: NodeView[SwitchOptions]) -> Mapping[str, Type | None]:
        """Checks every condition at its place (``cases[0].when``)."""
        inputs = node.spec.inputs
        if inputs is not None and inputs.ports is not None:
            node.problem(
                "unknown_port", inputs.path(0), "a switch reads columns by their names; leave 'inputs' out"
            )
        else:
            types = {name: node.inputs.get(name) for name in node.spec.columns}
            for index, case in enumerate(node.options.cases):
                _check_case(node, types, case["when"], f"cases[{index}].when")
        return settle_arm(node)

    def arms(self, node: NodeView[SwitchOptions]) -> Sequence[str]:
        """Returns the arms of the cases and the default, each once."""
        arms = (*(case["arm"] for case in node.options.cases), node.options.default)
        return tuple(dict.fromkeys(arm for arm in arms if arm is not None))

    def load(self, node: CheckedNode[SwitchOptions]) -> Member:
        """Compiles the conditions."""
        from beam_ensembles.columns.expressions import Conditions

        cases = node.options.cases
        conditions = Conditions([case["when"] for case in cases], node.inputs)
        arms = np.array([*(case["arm"] for case in cases), node.options.default], dtype=object)
        return Switch(conditions, arms, next(iter(node.outputs)))


def _check_case(node: NodeView, types: Mapping[str, Type | None], text: str, place: str) -> None:
    check_condition(text, types, lambda code, message: node.problem(code, place, message))


@dataclasses.dataclass(frozen=True, slots=True)
class Switch:
    """Chooses the arm of each row.

    Attributes:
        conditions: The conditions of the cases, in order.
        arms: The arm of each case, then the one where none holds, or None.
        output: The column to add.
    """

    conditions: Conditions
    arms: np.ndarray
    output: str

    def __call__(self, columns: Columns) -> Columns:
        """Chooses.

        Raises:
            NodeError: ``no_case``: no condition holds for one of the rows, and there is no default.
        """
        holds = self.conditions(columns)
        chosen = np.where(holds.any(axis=0), holds.argmax(axis=0), len(holds))
        if self.arms[-1] is None and (chosen == len(holds)).any():
            arms = listed(self.arms[:-1].tolist())
            raise NodeError("no_case", f"no case holds for the row (arms: {arms}), and there is no 'default'")
        return {self.output: self.arms[chosen]}
