"""Parts of texts in an expression's tree: null where SQL has null, and the whole text where a part begins before it.

polars takes a null length for none, so that ``LEFT(text, n)`` is the whole text where ``n`` is null, and a negative
start for one from the end, so that ``RIGHT('abcdef', n)`` is ``'def'`` where ``n`` is 9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from beam_ensembles.graph.expressions.functions import function_name
from beam_ensembles.graph.expressions.nulls import may_be_null
from beam_ensembles.graph.expressions.trees import NULL, Tree, kind_of, with_inputs
from beam_ensembles.types import Type

PARTS: Final = frozenset(
    (
        "StringExpr.Slice", "StringExpr.StripChars", "StringExpr.StripCharsEnd", "StringExpr.StripCharsStart",
        "FillNull",
    )
)  # fmt: skip
"""The functions that ``part_of_text`` mends."""

_ZERO: Final[Tree] = {"Literal": {"Dyn": {"Int": 0}}}


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


def _not_negative(start: Tree) -> Tree:
    if kind_of(start)[0] == "Literal":
        return start
    is_negative = {"BinaryExpr": {"left": start, "op": "Lt", "right": _ZERO}}
    return {"Ternary": {"predicate": is_negative, "truthy": _ZERO, "falsy": start}}


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
            is_null = {"Function": {"input": [argument], "function": {"Boolean": "IsNull"}}}
            tree = {"Ternary": {"predicate": is_null, "truthy": NULL, "falsy": tree}}
    return tree
