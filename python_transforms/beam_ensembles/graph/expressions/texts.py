"""Parts of texts in an expression's tree: null where SQL has null, and the whole text where a part begins before it.

polars takes a null length for none, so that ``LEFT(text, n)`` is the whole text where ``n`` is null, and a negative
start for one from the end, so that ``RIGHT('abcdef', n)`` is ``'def'`` where ``n`` is 9. It puts the new
text of ``REPLACE`` between all characters where the old one is empty; SQL leaves the text as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles.graph.expressions.functions import function_name
from beam_ensembles.graph.expressions.nulls import may_be_null
from beam_ensembles.graph.expressions.trees import (
    NULL,
    Tree,
    choose,
    function,
    kind_of,
    operator,
    with_inputs,
)
from beam_ensembles.types import Type

PARTS: Final = frozenset(
    (
        "StringExpr.Slice", "StringExpr.StripChars", "StringExpr.StripCharsEnd", "StringExpr.StripCharsStart",
        "FillNull",
    )
)  # fmt: skip
"""The functions that ``part_of_text`` mends."""

_ZERO: Final[Tree] = {"Literal": {"Dyn": {"Int": 0}}}
_EMPTY: Final[Tree] = {"Literal": {"Scalar": {"String": ""}}}


def part_of_text(name: str, tree: Tree, types: Mapping[str, Type]) -> Tree:
    """Returns a function that gives a part of a text, mended; the tree itself where nothing was to be done.

    Args:
        name: One of ``PARTS``.
        tree: The function.
        types: The types of the columns that it reads.
    """
    inputs: Sequence[Tree] = tree["Function"]["input"]
    if name == "FillNull":
        return _null_where(_arguments_of_split_part(inputs[0]), tree, types)
    if name == "StringExpr.Slice":
        text, start, length = inputs
        tree = with_inputs(tree, text, _not_negative(start), length)
        return _null_where([length], tree, types)
    return _null_where(inputs[1:], tree, types)


def replaced(tree: Tree) -> Tree:
    """Returns ``REPLACE``, which leaves a text as it is where what it looks for is empty."""
    text, old, _ = tree["Function"]["input"]
    if kind_of(old)[0] == "Literal":
        return text if old == _EMPTY else tree
    return choose(operator(old, "Eq", _EMPTY), text, tree)


def _not_negative(start: Tree) -> Tree:
    if kind_of(start)[0] == "Literal":
        return start
    return choose(operator(start, "Lt", _ZERO), _ZERO, start)


def _arguments_of_split_part(tree: Tree) -> list[Tree]:
    """Returns the separator and the number of ``SPLIT_PART``; nothing of another function that is filled."""
    kind, held = kind_of(tree)
    if kind != "Function" or function_name(held["function"]) != "ListExpr.Get":
        return []
    items, at = held["input"]
    kind, split = kind_of(items)
    if kind != "Function" or function_name(split["function"]) != "StringExpr.Split":
        return []
    while (
        kind_of(at)[0] == "Ternary"
    ):  # where it is 0 there is no such part, and where it is positive it counts from 1
        at = at["Ternary"]["falsy"]
    return [split["input"][1], at]


def _null_where(arguments: Sequence[Tree], tree: Tree, types: Mapping[str, Type]) -> Tree:
    for argument in arguments:
        if kind_of(argument)[0] != "Literal" and may_be_null(argument, types):
            tree = choose(function({"Boolean": "IsNull"}, argument), NULL, tree)
    return tree
