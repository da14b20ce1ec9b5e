"""How long a text an expression makes of its constants alone: ``REPLACE`` in ``REPLACE`` multiplies.

The columns of the rows count as one character here. What rows bring is their owner's; what the file brings would be
made by whoever checks it, and polars ends the process where there is no memory for it.
"""

from __future__ import annotations

import json
from typing import Final

from beam_ensembles.graph.expressions.functions import function_name
from beam_ensembles.graph.expressions.trees import MOST_PADDED, Tree, kind_of, parts
from beam_ensembles.limits import LONGEST_MADE
from beam_ensembles.messages.printable import truncate
from beam_ensembles.spec.sql_tokens import ExpressionError

_LONGEST_NUMBER: Final = 32
"""Characters of a number or a point in time."""
_LONGEST_WORD: Final = 32
"""Characters that one sign of a time format can become."""


def check_growth(tree: Tree) -> None:
    """Refuses an expression that makes a text of more than ``limits.LONGEST_MADE`` characters of its constants.

    Raises:
        ExpressionError: ``bad_expression``.
    """
    _length(tree)


def _length(tree: Tree) -> int:
    """Returns how many characters a part makes at most."""
    kind, held = kind_of(tree)
    if kind == "Literal":
        return len(json.dumps(held, ensure_ascii=False))
    found = _of_parts(kind, held, [_length(part) for part in parts(tree)])
    if found > LONGEST_MADE:
        made = f"the expression makes a text of {truncate(f'{found:,}', 40)} characters of its constants"
        text = f"{made}; at most {LONGEST_MADE:,} are allowed"
        raise ExpressionError("bad_expression", text)
    return found


def _of_parts(kind: str, held: Tree, lengths: list[int]) -> int:
    if kind == "Eval":
        return lengths[0] * (1 + _length(held["evaluation"]))
    if kind != "Function":
        return max(sum(lengths), _LONGEST_NUMBER if kind == "Cast" else 1)
    name = function_name(held["function"])
    if name in ("StringExpr.PadStart", "StringExpr.PadEnd"):
        return max(lengths[0], _constant(held["input"][1], MOST_PADDED))
    if name == "StringExpr.Slice":
        return min(lengths[0], _constant(held["input"][2], lengths[0]))
    if name == "StringExpr.Replace":
        text, _, new = lengths
        how = held["function"]["StringExpr"]["Replace"]
        refers = not how["literal"] and _refers(held["input"][2])
        return text + (1 if how["n"] == 1 else text + 1) * new * (1 + refers * text)
    if name in ("ListExpr.Join", "StringExpr.ConcatHorizontal"):
        return (lengths[0] + 1) * (lengths[-1] + 1) if name == "ListExpr.Join" else _joined(held, lengths)
    if name == "TemporalExpr.ToString":
        return _LONGEST_WORD * (len(json.dumps(held["function"])) + sum(lengths))
    return max(sum(lengths), 1)


def _constant(tree: Tree, otherwise: int) -> int:
    """Returns the value of a whole number, or None for another part."""
    kind, held = kind_of(tree)
    found = held.get("Dyn", {}).get("Int") if kind == "Literal" else None
    return found if isinstance(found, int) and found >= 0 else otherwise


def _joined(held: Tree, lengths: list[int]) -> int:
    """Returns the length of joined texts, with their separators."""
    return sum(lengths) + len(lengths) * len(json.dumps(held["function"]))


def _refers(new: Tree) -> bool:
    """Whether a new text may refer to what a pattern found, as ``$1``."""
    return kind_of(new)[0] != "Literal" or "$" in json.dumps(new)
