"""``split``: a weighted split of the rows that gives the same key the same arm always."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from beam_ensembles.graph.kinds import CheckedNode, Columns, Kind, Member, NodeView, validity
from beam_ensembles.graph.options import Options, option
from beam_ensembles.routes.arm_column import GIVES, settle_arm
from beam_ensembles.routes.sticky import Rendezvous, is_key, key_hashes
from beam_ensembles.spec.places import below
from beam_ensembles.types import Type

_LARGEST = 1 << 31


class SplitOptions(Options):
    """How rows are split."""

    arms: Mapping[str, Any] = option(
        {}, "The weight of each arm, a whole number: {a: 90, b: 10}.", required=True
    )
    salt: str | None = option(
        None,
        "A text that makes this split independent of others with the same keys.",
        shown="the node's name",
    )


class SplitKind(Kind[SplitOptions]):
    """Splits the rows by their keys, in the proportions of the weights."""

    kind = "route"
    name = "split"
    summary = "Splits the rows by weight; the same key always takes the same arm, as for an A/B test."
    takes = "The columns of the key: text, bytes, whole numbers, booleans or timestamps. Null is a key like any other."
    gives = GIVES
    takes_nulls = True
    options = SplitOptions

    def check(self, node: NodeView[SplitOptions]) -> Mapping[str, Type | None]:
        """Checks the weights and that the key can be hashed the same everywhere."""
        _check_weights(node, node.options.arms)
        inputs = node.spec.inputs
        if inputs is None:
            node.problem(
                "missing_key", "inputs", "a split needs inputs: the columns of the key, such as [user]"
            )
        elif inputs.ports is not None:
            node.problem("unknown_port", inputs.path(0), "a split takes a list of the key's columns: [user]")
        else:
            _check_key(node)
        return settle_arm(node)

    def arms(self, node: NodeView[SplitOptions]) -> Sequence[str]:
        """Returns the arms in the order of the file."""
        return tuple(node.options.arms)

    def load(self, node: CheckedNode[SplitOptions]) -> Member:
        """Hashes the arms."""
        arms, salt = node.options.arms, node.options.salt
        key = {column: node.inputs[column] for column in node.spec.columns}
        return Split(
            key, node.spec.name if salt is None else salt, Rendezvous(arms), next(iter(node.outputs))
        )


def _check_weights(node: NodeView, arms: Mapping[str, Any]) -> None:
    for arm, weight in arms.items():
        if not isinstance(weight, int) or isinstance(weight, bool) or not 0 <= weight < _LARGEST:
            text = f"the weight of '{arm}' must be a whole number, not negative and below 2^31, such as 90"
            node.problem("bad_weights", below("arms", arm), text)
    if not any(weight != 0 for weight in arms.values()):
        text = "no arm has a weight above 0, so that no row could take one; write such as {a: 90, b: 10}"
        node.problem("bad_weights", "arms", text)


def _check_key(node: NodeView) -> None:
    for index, column in enumerate(node.spec.columns):
        type_ = node.inputs.get(column)
        if type_ is not None and not is_key(type_):
            text = (
                f"'{column}' is {type_}; a key is of text, bytes, whole numbers, booleans or timestamps, which are "
                "written the same everywhere"
            )
            node.problem("type_mismatch", f"inputs[{index}]", text)


@dataclasses.dataclass(frozen=True, slots=True)
class Split:
    """Assigns each row the arm of its key.

    Attributes:
        key: The columns of the key, with their types, in order.
        salt: What makes it independent of other splits.
        arms: Chooses the arm of a hash.
        output: The column to add.
    """

    key: Mapping[str, Type]
    salt: str
    arms: Rendezvous
    output: str

    def __call__(self, columns: Columns) -> Columns:
        """Returns the arm of each row."""
        parts = [(columns[name], type_, columns.get(validity(name))) for name, type_ in self.key.items()]
        return {self.output: self.arms(key_hashes(parts, self.salt))}
