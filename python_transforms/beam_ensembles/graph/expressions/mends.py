"""What polars computes otherwise than SQL, put right in an expression's tree."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from beam_ensembles.graph.expressions.errors import FINER
from beam_ensembles.graph.expressions.fractions import limited
from beam_ensembles.graph.expressions.functions import function_name
from beam_ensembles.graph.expressions.mixed_numbers import MixedNumbers
from beam_ensembles.graph.expressions.nulls import items_may_be_null
from beam_ensembles.graph.expressions.operands import Operands, expression_of
from beam_ensembles.graph.expressions.texts import PARTS, part_of_text, replaced
from beam_ensembles.graph.expressions.trees import (
    MOST_PADDED,
    NULL,
    Tree,
    cast,
    choose,
    function,
    is_series,
    kind_of,
    operator,
    with_inputs,
)
from beam_ensembles.graph.expressions.whole_numbers import WholeNumbers
from beam_ensembles.spec.sql_tokens import ExpressionError
from beam_ensembles.types import Type

if TYPE_CHECKING:
    import polars as pl

_ZERO: Final[Tree] = {"Literal": {"Dyn": {"Float": 0.0}}}
_FALSE: Final[Tree] = {"Literal": {"Scalar": {"Boolean": False}}}
_SMALLEST: Final = -(2**63)
_NANOSECONDS: Final = r"\.\d{6}\d*[1-9]"
_HOLDING: Final = frozenset(("left", "right", "predicate", "truthy", "falsy", "expr", "evaluation"))
"""The keys below which one tree stands."""


def mended(tree: Tree, types: Mapping[str, Type]) -> Tree:
    """Mends what polars gives otherwise than SQL or without a limit.

    - ``+``, ``-``, ``*``, ``ABS`` and ``ARRAY_SUM`` of whole numbers are exact: polars computes in their own width, in
      which ``HOUR(t) * 60`` is 100 and ``LENGTH(t) - 10`` 4294967289. ``POW`` of them is a double.
    - Whole numbers beside fractions are compared exactly; polars rounds those from 2^53 on. One that ``COALESCE``,
      ``GREATEST``, ``LEAST``, ``CASE`` or ``IF`` would round fails its row.
    - ``REPLACE`` of an empty text replaces nothing; polars puts the new text between all characters.
    - ``ARRAY_SUM`` of no fraction is 0.0, not -0.0.
    - ``IN``, ``ANY`` and ``ARRAY_CONTAINS`` compare a ``float`` with constants as ``=`` does: as floats.
    - ``x = ANY(list)`` and ``ARRAY_CONTAINS(list, x)`` are null where ``x`` is null, or the list has a null and not
      ``x``, as ``IN`` is.
    - ``STRPTIME``: a text that names nanoseconds is none that it reads; polars cuts them off.
    - ``ARRAY_GET`` with the smallest whole number of 64 bits is null; polars 2.1 panics where no other is asked for.
    - ``EXTRACT(EPOCH ...)`` holds for every timestamp, not only from 1677 to 2262.
    - ``CAST`` to a type of fractions fails for a number that is too large for it, which polars makes infinite.
    - ``LEFT``, ``RIGHT``, ``SUBSTR``, ``SPLIT_PART`` and ``LTRIM`` of a null length, number or text are null.
    - A part of a text that starts before the text starts with it; polars counts from the end.
    - ``LPAD`` and ``RPAD``: the length is a whole number of 16 bits, so that a row that asks for more fails before it
      takes the memory.

    Args:
        tree: The tree.
        types: The types of the columns that it reads.

    Returns:
        The tree itself where nothing was to be done.

    Raises:
        ExpressionError: ``bad_expression``: a text would be filled up to more than ``MOST_PADDED`` characters.
    """
    return _Mends(types).mended(tree)


class _Mends:
    def __init__(self, types: Mapping[str, Type]) -> None:
        self._types, self._operands = types, Operands(types)
        self._whole, self._mixed = WholeNumbers(self._operands), MixedNumbers(self._operands)

    def mended(self, tree: Tree) -> Tree:
        kind, held = kind_of(tree)
        if kind == "Literal" or not isinstance(held, dict):
            return tree
        new = dict(held)
        for key in _HOLDING.intersection(held):  # chains of operators are deep: one frame for each is enough
            new[key] = self.mended(held[key])
        for at, part in enumerate(held.get("input", ())):
            changed = self.mended(part)
            if changed is not part:
                new["input"] = [*new["input"][:at], changed, *new["input"][at + 1 :]]
        found = tree if all(new[key] is held[key] for key in held) else {kind: new}
        if kind == "BinaryExpr" and new["op"] == "RustDivide":
            return _seconds(found)
        if kind == "BinaryExpr":
            compared = self._mixed.compared(found)
            return self._whole.combined(compared, new["op"], new["left"], new["right"])
        if kind == "Cast":
            return limited(found, self._operands)
        found = self._mixed.chosen(found)
        return self._function(function_name(held["function"]), found) if kind == "Function" else found

    def _function(self, name: str, tree: Tree) -> Tree:
        held = tree["Function"]
        if name in ("StringExpr.PadStart", "StringExpr.PadEnd"):
            return with_inputs(tree, held["input"][0], _padded(held["input"][1]))
        if name in PARTS:
            return part_of_text(name, tree, self._types)
        if name == "ListExpr.Sum":
            return self._sum(tree)
        if name in ("Sql.Binary.Plus", "Sql.Binary.Minus", "Sql.Binary.Mul"):
            return self._whole.combined(tree, name.rpartition(".")[2], *held["input"])
        if name == "Abs":
            return self._whole.absolute(tree)
        if name == "Pow.Generic":
            return self._whole.power(tree)
        if name == "ListExpr.Get":
            items, at = held["input"]
            return with_inputs(tree, items, _place(at))
        if name == "ListExpr.Contains":
            items, item = held["input"]
            item, items = self._as_floats(item, items)
            found = function({"ListExpr": {"Contains": {"nulls_equal": False}}}, items, item)
            return self._unknown_beside_null(self._mixed.found(found, items, item, _FALSE), items)
        if name == "Sql.IsIn":
            item, items = self._as_floats(*held["input"])
            unknown = NULL if is_series(items) and _has_null(items) else _FALSE
            found = self._mixed.found(with_inputs(tree, item, items), items, item, unknown)
            return self._unknown_beside_null(found, items)
        if name == "StringExpr.Replace" and tree["Function"]["function"]["StringExpr"]["Replace"]["literal"]:
            return replaced(tree)
        if name == "StringExpr.Strptime":
            text, ambiguous = held["input"]
            return with_inputs(tree, _with_nanoseconds_marked(text), ambiguous)
        return tree

    def _sum(self, tree: Tree) -> Tree:
        if self._operands.is_float(tree):
            # polars leaves out what only adds 0
            return choose(operator(tree, "Eq", _ZERO), _ZERO, tree)
        return self._whole.sum(tree)

    def _as_floats(self, item: Tree, items: Tree) -> tuple[Tree, Tree]:
        """Returns an item and the list in which it is looked for; what is a constant is a float beside floats."""
        one, many = self._operands.dtype(item), self._inner(items)
        if one is None or many is None or not (one.is_numeric() and many.is_numeric()) or one == many:
            return item, items
        if str(one) == "Float32" and _is_constant(items):
            return item, _floats(items)
        if str(many) == "Float32" and _is_constant(item):
            return cast(item, "Float32"), items
        return item, items

    def _inner(self, items: Tree) -> pl.DataType | None:
        found: pl.DataType | None = getattr(self._operands.dtype(items), "inner", None)
        return found

    def _unknown_beside_null(self, tree: Tree, items: Tree) -> Tree:
        if is_series(items) or not (_is_constant(items) or items_may_be_null(items, self._types)):
            return tree  # of constants IN compares with null by itself
        has_null = function({"ListExpr": {"Contains": {"nulls_equal": True}}}, items, NULL)
        return operator(tree, "Or", choose(has_null, NULL, _FALSE))


def _is_constant(tree: Tree) -> bool:
    kind, held = kind_of(tree)
    return _is_constant(held[0]) if kind == "Alias" else kind == "Literal"


def _has_null(constants: Tree) -> bool:
    import polars as pl

    return pl.select(expression_of(constants)).to_series(0).list.explode().has_nulls()


def _floats(constants: Tree) -> Tree:
    """Returns a list of constants as floats."""
    import polars as pl

    series = pl.select(expression_of(constants)).to_series(0).cast(pl.List(pl.Float32))
    found: Tree = json.loads(pl.lit(series).meta.serialize(format="json"))
    return found


def _seconds(tree: Tree) -> Tree:
    """Counts seconds in microseconds, as timestamps are: 64 bits hold few years of nanoseconds."""
    kind, held = kind_of(tree["BinaryExpr"]["left"])
    if kind != "Function" or held["function"] != {"TemporalExpr": {"TimeStamp": "Nanoseconds"}}:
        return tree
    micros = {"Function": {**held, "function": {"TemporalExpr": {"TimeStamp": "Microseconds"}}}}
    return operator(micros, "RustDivide", {"Literal": {"Scalar": {"Int64": 1_000_000}}})


def _place(index: Tree) -> Tree:
    """Returns an item's place in a list, null where it is the number whose absolute value has no 64 bits."""
    kind, held = kind_of(index)
    if kind == "Literal" and abs(held.get("Dyn", {}).get("Int", _SMALLEST)) < -_SMALLEST:
        return index
    smallest = {"Literal": {"Scalar": {"Int64": _SMALLEST}}}
    return choose(operator(index, "Eq", smallest), NULL, index)


def _with_nanoseconds_marked(text: Tree) -> Tree:
    pattern, marked = ({"Literal": {"Scalar": {"String": one}}} for one in (_NANOSECONDS, f"$0{FINER}"))
    return function({"StringExpr": {"Replace": {"n": 1, "literal": False}}}, text, pattern, marked)


def _padded(length: Tree) -> Tree:
    kind, held = kind_of(length)
    constant = held.get("Dyn", {}).get("Int") if kind == "Literal" else None
    if constant is None:
        return cast(length, "UInt16")
    if constant > MOST_PADDED:
        message = f"LPAD and RPAD fill a text up to {MOST_PADDED} characters at most, not to {constant}"
        raise ExpressionError("bad_expression", message)
    return length
