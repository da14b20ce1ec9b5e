"""Casts to fractions: a number that is too large fails its row, where polars would make it infinite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from beam_ensembles.graph.expressions.errors import TOO_LARGE
from beam_ensembles.graph.expressions.operands import Operands
from beam_ensembles.graph.expressions.trees import NULL, Tree, cast, choose, failing, function, operator

if TYPE_CHECKING:
    import polars as pl

_DOUBLE: Final = "Float64"
_INFINITE_FROM: Final = {"Float32": 2.0**128 - 2.0**103, _DOUBLE: float("inf")}
"""From which number on each type rounds to infinity."""

_NAMES: Final = {"Float32": "float", _DOUBLE: "double"}
_DIGIT: Final[Tree] = {"Literal": {"Scalar": {"String": "[0-9]"}}}


def limited(tree: Tree, operands: Operands) -> Tree:
    """Returns a cast that fails for a number that its type would make infinite, or gives null in ``TRY_CAST``.

    Infinity itself stays. Casts to other types, and of what is never too large, are returned as they are.

    Args:
        tree: A ``Cast``.
        operands: Says what its parts are.
    """
    held = tree["Cast"]
    wanted = held["dtype"].get("Literal")
    is_list = isinstance(wanted, dict) and "List" in wanted
    target = wanted["List"] if is_list else wanted
    if not isinstance(target, str) or target not in _NAMES:
        return tree
    dtype = operands.dtype(held["expr"])
    given = str(_inner(dtype) if is_list else dtype)
    if given not in ("String", _DOUBLE) or given == target:
        return tree
    value: Tree = "Element" if is_list else held["expr"]
    checked = _checked(value, given, target, is_strict=held["options"] == "Strict")
    if is_list:
        checked = {"Eval": {"expr": held["expr"], "evaluation": checked, "variant": "List"}}
    return {"Cast": {**held, "expr": checked}}


def _inner(dtype: pl.DataType | None) -> pl.DataType | None:
    found: pl.DataType | None = getattr(dtype, "inner", None)
    return found


def _checked(value: Tree, given: str, target: str, is_strict: bool) -> Tree:
    number = value
    if given == "String":
        number = {"Cast": {"expr": value, "dtype": {"Literal": _DOUBLE}, "options": "NonStrict"}}
    size = function("Abs", number)
    is_too_large = operator(size, "GtEq", _constant(_INFINITE_FROM[target]))
    if given == "String":  # the text of infinity has no digits
        contains = {"StringExpr": {"Contains": {"literal": False, "strict": True}}}
        is_too_large = operator(is_too_large, "And", function(contains, value, _DIGIT))
    else:
        is_too_large = operator(is_too_large, "And", function({"Boolean": "IsFinite"}, number))
    if not is_strict:
        return choose(is_too_large, NULL, value)
    failed = failing(is_too_large, value, f"{TOO_LARGE}{_NAMES[target]}")
    return function("Coalesce", failed if given == _DOUBLE else cast(failed, "String"), value)


def _constant(number: float) -> Tree:
    if number == float("inf"):
        return cast({"Literal": {"Scalar": {"String": "inf"}}}, _DOUBLE)  # JSON has no infinity
    return {"Literal": {"Scalar": {_DOUBLE: number}}}
