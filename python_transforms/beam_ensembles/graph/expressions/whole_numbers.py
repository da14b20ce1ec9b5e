"""Arithmetic of whole numbers in an expression's tree: exact, or the error of its row.

polars computes in the width of the operands, and what is too large wraps around: the hour of a timestamp has 8 bits
there, the length of a text has 32 and no sign. Here it is computed in 128 bits, and what comes out is made the type
that such a column has, ``int32`` or ``int64``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from beam_ensembles.graph.expressions.functions import function_name
from beam_ensembles.graph.expressions.operands import Operands
from beam_ensembles.graph.expressions.trees import Tree, cast, kind_of, with_inputs

_WIDE: Final = "Int128"
_TRUTH: Final = "Boolean"
_SMALL: Final = frozenset((_TRUTH, "Int8", "Int16", "Int32", "UInt8", "UInt16"))
_SUMS: Final = ("Plus", "Minus")
_PRODUCTS: Final = ("Multiply", "Mul")
_ZERO: Final[Tree] = {"Literal": {"Dyn": {"Int": 0}}}

Term = tuple[bool, Tree]
"""A part of a sum: whether it is taken off, and what it is."""


class WholeNumbers:
    """The arithmetic of one expression, made exact.

    Args:
        operands: Says what its parts are.
    """

    def __init__(self, operands: Operands) -> None:
        self._operands = operands
        self._sums: dict[int, tuple[Tree, list[Term]]] = {}
        """The parts of each sum that was made, by the identity of its tree, which is kept with them."""

    def combined(self, tree: Tree, operator: str, left: Tree, right: Tree) -> Tree:
        """Returns ``+``, ``-`` or ``*`` without overflow; any other operator, or one of other values, as it is.

        Args:
            tree: The operator with its operands.
            operator: Its name in polars' trees.
            left: The operand before it.
            right: The operand behind it.
        """
        result = self._result(left, right) if operator in (*_SUMS, *_PRODUCTS) else None
        if result is None:
            return tree
        if operator in _PRODUCTS:
            product = {"left": cast(left, _WIDE), "op": "Multiply", "right": cast(right, _WIDE)}
            return self._made([(False, {"BinaryExpr": product})], result)
        rest = [(is_off != (operator == "Minus"), part) for is_off, part in self._terms(right)]
        return self._made([*self._terms(left), *rest], result)

    def absolute(self, tree: Tree) -> Tree:
        """Returns ``ABS`` without overflow."""
        (value,) = tree["Function"]["input"]
        result = self._result(value)
        return tree if result is None else cast(with_inputs(tree, cast(value, _WIDE)), result)

    def sum(self, tree: Tree) -> Tree:
        """Returns ``ARRAY_SUM`` without overflow, of 64 bits, as SQL has it."""
        dtype = self._operands.dtype(tree)
        if dtype is None or not dtype.is_integer():
            return tree
        (items,) = tree["Function"]["input"]
        return cast(with_inputs(tree, cast(items, {"List": _WIDE})), "Int64")

    def power(self, tree: Tree) -> Tree:
        """Returns ``POW``, of whole numbers as a double."""
        base, exponent = tree["Function"]["input"]
        if self._result(base, exponent) is None:
            return tree
        return with_inputs(tree, cast(base, "Float64"), exponent)

    def _result(self, *values: Tree) -> str | None:
        """Returns the dtype of what is computed of whole numbers and truths; None where a value is neither."""
        names = set()
        for value in values:
            name = self._name(value)
            if name != _TRUTH and not name.removeprefix("U").startswith("Int"):
                return None
            names.add(name)
        return "Int32" if names != {_TRUTH} and names <= _SMALL else "Int64"

    def _name(self, value: Tree) -> str:
        """Returns the name of a value's dtype, which polars settles only where it is not known."""
        kind, held = kind_of(value)
        if kind == "Cast" and isinstance(held["dtype"].get("Literal"), str):
            return str(held["dtype"]["Literal"])
        name = held["op"] if kind == "BinaryExpr" else ""
        if kind == "Function":
            name = function_name(held["function"]).removeprefix("Sql.Binary.")
        if name in (*_SUMS, *_PRODUCTS):
            return ""  # it would have been combined
        return str(self._operands.dtype(value))

    def _terms(self, tree: Tree) -> list[Term]:
        _, terms = self._sums.get(id(tree), (tree, [(False, cast(tree, _WIDE))]))
        return terms

    def _made(self, terms: list[Term], result: str) -> Tree:
        tree = cast(_added(terms), result)
        self._sums[id(tree)] = tree, terms
        return tree


def _added(terms: Sequence[Term]) -> Tree:
    """Returns a sum; halves are added, for polars reads no tree that is as deep as a long sum is from left to right."""
    (taken_off, first), *others = terms
    if not others:
        return {"BinaryExpr": {"left": _ZERO, "op": "Minus", "right": first}} if taken_off else first
    half = len(terms) // 2
    is_minus = terms[half][0]
    right = _added([(off != is_minus, part) for off, part in terms[half:]])
    return {
        "BinaryExpr": {"left": _added(terms[:half]), "op": "Minus" if is_minus else "Plus", "right": right}
    }
