"""What most functions read: one column."""

from __future__ import annotations

from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.types import NUMPY_DTYPES, Scalar, Type


def one_column(node: NodeView, meaning: str, example: str) -> Type | None:
    """Returns the type of the only column that a node reads; reports any other number of them, and named ones.

    Args:
        node: The node.
        meaning: What the column holds, for people: ``a row's scores``.
        example: What such a column may be called.

    Returns:
        Its type; None where there is no such column, or another mistake hides what it is.
    """
    inputs = node.spec.inputs
    if inputs is None:
        text = f"{node.spec.target} needs inputs: the column of {meaning}, such as [{example}]"
        node.problem("missing_key", "inputs", text)
        return None
    if inputs.ports is not None or len(inputs.columns) > 1:
        node.problem(
            "unknown_port", inputs.path(0), f"{node.spec.target} takes a list of one column: [{example}]"
        )
        return None
    return node.inputs.get(inputs.columns[0]) if inputs.columns else None


def wrong_input(node: NodeView, index: int, wanted: str) -> None:
    """Reports a column whose type a node cannot take (``type_mismatch``).

    Args:
        node: The node.
        index: Which of its columns.
        wanted: What it takes there, for people.
    """
    column = node.spec.columns[index]
    place = node.spec.inputs.path(index) if node.spec.inputs is not None else "inputs"
    text = f"'{column}' is {node.inputs[column]}; {node.spec.target} takes {wanted}"
    node.problem("type_mismatch", place, text)


def is_number(type_: Type, kinds: str = "fiu") -> bool:
    """Returns whether values of a type are numbers, none of them null.

    Args:
        type_: The type.
        kinds: numpy's letters of the kinds that count: fractions, whole numbers, those without a sign.
    """
    dtype = NUMPY_DTYPES.get(type_.name) if isinstance(type_, Scalar) and not type_.nullable else None
    return dtype is not None and dtype.kind in kinds
