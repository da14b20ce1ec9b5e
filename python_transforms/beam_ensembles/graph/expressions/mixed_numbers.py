"""Whole numbers beside fractions in an expression's tree: exact, or the error of their row.

polars makes both fractions, in which whole numbers from 2^53 on are rounded: 9007199254740993 would be equal to
9007199254740992.0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from beam_ensembles.graph.expressions.errors import INEXACT
from beam_ensembles.graph.expressions.functions import function_name
from beam_ensembles.graph.expressions.operands import Operands
from beam_ensembles.graph.expressions.trees import (
    COMPARISONS,
    Tree,
    cast,
    choose,
    failing,
    function,
    is_series,
    kind_of,
    operator,
    with_inputs,
)

if TYPE_CHECKING:
    import polars as pl

_BEYOND_THE_OTHERS: Final = {"MaxHorizontal": "Gt", "MinHorizontal": "Lt"}
"""How a whole number compares with what ``GREATEST`` or ``LEAST`` made of it, where that is another number."""
_LARGE: Final = frozenset(("Int64", "UInt64", "Int128"))
_FALSE: Final[Tree] = {"Literal": {"Scalar": {"Boolean": False}}}
_TRUE: Final[Tree] = {"Literal": {"Scalar": {"Boolean": True}}}
_WIDE: Final = "Int128"
_DOUBLE: Final = "Float64"
_ALL_EXACT_BELOW: Final = 2.0**53
_BEYOND: Final = 2.0**100
"""A constant that no whole number is rounded to."""


class MixedNumbers:
    """The whole numbers of one expression that stand beside fractions.

    Args:
        operands: Says what its parts are.
    """

    def __init__(self, operands: Operands) -> None:
        self._operands = operands

    def compared(self, tree: Tree) -> Tree:
        """Returns a comparison of a whole number with a fraction that holds exactly; any other operator as it is."""
        held = tree["BinaryExpr"]
        left, right = held["left"], held["right"]
        if held["op"] not in COMPARISONS or not self._are_mixed(left, right):
            return tree
        constants = [value for value in map(_constant, (left, right)) if value is not None]
        if any(abs(value) < _ALL_EXACT_BELOW or abs(value) > _BEYOND for value in constants):
            return tree
        # where both are equal as fractions, the fraction is a whole number
        exact = operator(_whole(left), held["op"], _whole(right))
        if constants:
            return exact
        left, right = cast(left, _DOUBLE), cast(right, _DOUBLE)
        return choose(operator(left, "Eq", right), exact, operator(left, held["op"], right))

    def found(self, tree: Tree, items: Tree, item: Tree, unknown: Tree) -> Tree:
        """Returns whether an item is in a list, where one is whole and the other has fractions; else the tree itself.

        Args:
            tree: ``IN``, ``ANY`` or ``ARRAY_CONTAINS``.
            items: The list in which it looks.
            item: What it looks for.
            unknown: What it gives where the item cannot be in the list.
        """
        many: pl.DataType | None = getattr(self._operands.dtype(items), "inner", None)
        one = self._operands.dtype(item)
        if one is None or many is None or kind_of(item)[0] == "Literal":
            return tree
        if str(one) in _LARGE and many.is_float():
            return choose(_is_rounded(item), unknown, _with(tree, item, cast(item, _DOUBLE)))
        if one.is_float() and str(many) in _LARGE and not is_series(items):
            is_fraction = operator(function("Floor", item), "NotEq", item)
            wide = _with(_with(tree, items, cast(items, {"List": _WIDE})), item, _whole(item))
            return choose(is_fraction, unknown, wide)
        return tree

    def chosen(self, tree: Tree) -> Tree:
        """Returns a choice between whole numbers and fractions; a row fails whose chosen whole number is no double.

        Choices are ``COALESCE``, ``GREATEST``, ``LEAST``, ``CASE`` and ``IF``.
        """
        kind, held = kind_of(tree)
        if kind == "Ternary":
            truthy, falsy = held["truthy"], held["falsy"]
            when = (held["predicate"], choose(held["predicate"], _FALSE, _TRUE))
            exact = self._exact((truthy, falsy), lambda at: when[at])
            return tree if exact is None else {kind: {**held, "truthy": exact[0], "falsy": exact[1]}}
        name = function_name(held["function"]) if kind == "Function" else ""
        if name in _BEYOND_THE_OTHERS:
            found, beyond = _whole(tree), _BEYOND_THE_OTHERS[name]
            exact = self._exact(held["input"], lambda at: operator(_whole(held["input"][at]), beyond, found))
        elif name == "Coalesce":
            exact = self._exact(held["input"], lambda at: _are_null(held["input"][:at]))
        else:
            return tree
        return tree if exact is None else with_inputs(tree, *exact)

    def _exact(self, values: Sequence[Tree], is_chosen: Callable[[int], Tree]) -> list[Tree] | None:
        """Returns the values as fractions, which fail where a whole one that is none is chosen; None: as they are."""
        dtypes = [self._operands.dtype(value) for value in values]
        are_large = [
            str(dtype) in _LARGE and kind_of(value)[0] != "Literal"
            for value, dtype in zip(values, dtypes, strict=True)
        ]
        if not any(are_large) or not any(dtype is not None and dtype.is_float() for dtype in dtypes):
            return None
        return [
            _checked(value, is_chosen(at)) if is_large else value
            for at, (value, is_large) in enumerate(zip(values, are_large, strict=True))
        ]

    def _are_mixed(self, left: Tree, right: Tree) -> bool:
        """Whether one is a large whole number and the other a fraction; a whole constant has the type of the other."""
        for whole, other in ((left, right), (right, left)):
            if kind_of(whole)[0] != "Literal" and str(self._operands.dtype(whole)) in _LARGE:
                return self._operands.is_float(other)
        return False


def _with(tree: Tree, old: Tree, new: Tree) -> Tree:
    return with_inputs(tree, *(new if part is old else part for part in tree["Function"]["input"]))


def _constant(tree: Tree) -> float | None:
    kind, held = kind_of(tree)
    found = (
        held.get("Dyn", {}).get("Float") if kind == "Literal" and isinstance(held.get("Dyn"), dict) else None
    )
    return found if isinstance(found, float) else None


def _whole(tree: Tree) -> Tree:
    """Returns a number as a whole one of 128 bits; null where it has no room there."""
    value = _constant(tree)
    if value is not None:
        return cast({"Literal": {"Dyn": {"Int": int(value)}}}, _WIDE)
    return {"Cast": {"expr": tree, "dtype": {"Literal": _WIDE}, "options": "NonStrict"}}


def _is_rounded(whole: Tree) -> Tree:
    return operator(cast(cast(whole, _DOUBLE), _WIDE), "NotEq", cast(whole, _WIDE))


def _are_null(values: Sequence[Tree]) -> Tree:
    found = _TRUE
    for value in values:
        found = operator(found, "And", function({"Boolean": "IsNull"}, value))
    return found


def _checked(whole: Tree, is_chosen: Tree) -> Tree:
    failed = failing(operator(is_chosen, "And", _is_rounded(whole)), whole, INEXACT)
    return function("Coalesce", failed, cast(whole, _DOUBLE))
