"""Whether members' values are probabilities: from 0 to 1, and 1 together."""

from __future__ import annotations

from typing import Final

import numpy as np

from beam_ensembles.combiners.members import Values
from beam_ensembles.errors import NodeError
from beam_ensembles.graph.kinds import NodeView

_TOLERANCE: Final = 0.02
"""How far values may lie outside, and their sum from 1: half precision and rounded values are closer."""


def check_refused(node: NodeView, todo: str) -> None:
    """Reports columns that are known not to hold probabilities (``not_probabilities``).

    Args:
        node: The node that needs probabilities.
        todo: What else the user can do, as the end of a sentence.
    """
    for index, column in enumerate(node.spec.columns):
        meaning = node.meanings.get(column)
        if meaning is not None and meaning.refused:
            text = f"'{column}' holds no probabilities, which {node.spec.target} needs: {meaning.refused}; {todo}"
            node.problem("not_probabilities", f"inputs[{index}]", text)


def check_values(values: Values, column: str, present: Values | None, todo: str) -> None:
    """Check that the values of every row are probabilities.

    Args:
        values: A row's values, ``[N, k]``.
        column: Their column, for the message.
        present: Which rows have values, ``[N]``; None: all.
        todo: What the user can do, as the end of a sentence.

    Raises:
        NodeError: ``not_probabilities``: those of some row are not.
    """
    sums = np.einsum("nk->n", values)  # faster than sum() for few classes
    near = np.abs(sums - 1) <= _TOLERANCE  # not true of NaN
    if near.all() and values.min(initial=0) >= -_TOLERANCE:
        return
    good = near & (values.min(axis=1) >= -_TOLERANCE)
    if present is not None:
        good |= ~present
    if not good.all():
        at = int(np.argmin(good))
        some = ", ".join(f"{value:.4g}" for value in values[at, :4].tolist())
        more = ", …" if values.shape[1] > 4 else ""
        text = (
            f"'{column}' holds [{some}{more}], which add up to {sums[at]:.4g}; probabilities are from 0 to 1 and add "
            f"up to 1; {todo}"
        )
        raise NodeError("not_probabilities", text)
