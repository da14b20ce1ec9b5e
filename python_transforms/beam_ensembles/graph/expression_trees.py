"""A parsed expression as the tree that polars writes of it: what may stand in it, and where nulls come from.

A tree is plain JSON: ``{"BinaryExpr": {"left": ..., "op": "Gt", "right": ...}}``. Only what is on the lists below may
stand in it, so that whatever polars learns in later versions is refused until somebody has looked at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from beam_ensembles.graph.expression_types import has_null_items
from beam_ensembles.spec.expressions import ExpressionError
from beam_ensembles.types import Array, Row, Type

Tree = Any
"""A node of the tree: a word, or a mapping from its kind to what it holds."""

COMPARISONS: Final = frozenset(("Eq", "NotEq", "Lt", "LtEq", "Gt", "GtEq", "EqValidity", "NotEqValidity"))
_NULL_SAFE: Final = frozenset(("EqValidity", "NotEqValidity"))
_OPERATORS: Final = frozenset(
    (
        *COMPARISONS, "Plus", "Minus", "Multiply", "Divide", "RustDivide", "TrueDivide", "FloorDivide", "Modulus",
        "And", "Or", "Xor", "LogicalAnd", "LogicalOr",
    )
)  # fmt: skip

_ANY, _ALL, _NEVER, _MAY = "any", "all", "never", "may"
"""When a function gives null: where any of its arguments is, where all are, never, or also by itself."""

_FUNCTIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            "Abs", "Atan2", "Bitwise.CountOnes", "Boolean.Not", "Ceil", "Clip", "Erf", "Exp", "Floor", "Log", "Log1p",
            "Pow.Cbrt", "Pow.Generic", "Pow.Sqrt", "Round", "Sign", "Sql.Round", "Sql.ToFloat", "Truncate",
            "Sql.Binary.Plus", "Sql.Binary.Minus", "Sql.Binary.Mul", "Sql.Binary.Div", "Sql.Binary.Eq",
            "Sql.Binary.NotEq", "Sql.Binary.Lt", "Sql.Binary.LtEq", "Sql.Binary.Gt", "Sql.Binary.GtEq",
            "ListExpr.Contains", "ListExpr.Join", "ListExpr.Length", "ListExpr.Sum", "Sql.IsIn",
            "StringExpr.Contains", "StringExpr.EndsWith", "StringExpr.LenBytes", "StringExpr.LenChars",
            "StringExpr.Lowercase", "StringExpr.Normalize", "StringExpr.PadEnd", "StringExpr.PadStart",
            "StringExpr.Replace", "StringExpr.Reverse", "StringExpr.Slice", "StringExpr.Split",
            "StringExpr.StartsWith", "StringExpr.StripChars", "StringExpr.StripCharsEnd",
            "StringExpr.StripCharsStart", "StringExpr.Strptime", "StringExpr.Titlecase", "StringExpr.Uppercase",
            "TemporalExpr.Century", "TemporalExpr.Day", "TemporalExpr.Hour", "TemporalExpr.IsoYear",
            "TemporalExpr.Microsecond", "TemporalExpr.Millennium", "TemporalExpr.Millisecond", "TemporalExpr.Minute",
            "TemporalExpr.Month", "TemporalExpr.Nanosecond", "TemporalExpr.OffsetBy", "TemporalExpr.OrdinalDay",
            "TemporalExpr.Quarter", "TemporalExpr.Second", "TemporalExpr.TimeStamp", "TemporalExpr.ToString",
            "TemporalExpr.Week", "TemporalExpr.WeekDay", "TemporalExpr.Year", "Trigonometry.ArcCos",
            "Trigonometry.ArcSin", "Trigonometry.ArcTan", "Trigonometry.Cos", "Trigonometry.Cot",
            "Trigonometry.Degrees", "Trigonometry.Radians", "Trigonometry.Sin", "Trigonometry.Tan",
        ),
        _ANY,
    ),
    **dict.fromkeys(("Coalesce", "FillNull", "MaxHorizontal", "MinHorizontal"), _ALL),
    **dict.fromkeys(
        ("Boolean.IsNull", "Boolean.IsNotNull", "StringExpr.ConcatHorizontal"), _NEVER
    ),
    **dict.fromkeys(
        (
            "ListExpr.Get", "ListExpr.Max", "ListExpr.Mean", "ListExpr.Min", "Sql.Binary.IntDiv", "Sql.Binary.Rem",
            "StructExpr.FieldByName",
        ),
        _MAY,
    ),
}  # fmt: skip
"""The functions that look at one row alone, and when they give null."""

_OF_ONE_LIST: Final = frozenset(("FillNull", "Reverse", "Unique"))
"""The functions that may be applied to the items of one row's list."""

_FAMILIES: Final = frozenset(
    (
        "Bitwise",
        "Boolean",
        "ListExpr",
        "Pow",
        "Sql",
        "StringExpr",
        "StructExpr",
        "TemporalExpr",
        "Trigonometry",
    )
)
_NULLS_AS_DEFAULTS: Final = frozenset(
    ("StringExpr.Slice", "StringExpr.StripChars", "StringExpr.StripCharsEnd", "StringExpr.StripCharsStart")
)
_NULL: Final[Tree] = {"Literal": {"Scalar": {"Null": "Null"}}}


def kind_of(tree: Tree) -> tuple[str, Any]:
    """Gives the kind of a tree's node and what it holds."""
    return (tree, None) if isinstance(tree, str) else next(iter(tree.items()))


def function_name(function: Any) -> str:
    """Gives a function's name: ``Abs``, ``StringExpr.Uppercase``, ``Sql.Binary.Div``."""
    if isinstance(function, str):
        return function
    family, inner = next(iter(function.items()))
    if family not in _FAMILIES:
        return str(family)
    if isinstance(inner, str):
        return f"{family}.{inner}"
    name, options = next(iter(inner.items()))
    return f"{family}.{name}.{options}" if name == "Binary" else f"{family}.{name}"


def check_rowwise(tree: Tree, of_one_list: bool = False) -> None:
    """Checks that nothing stands in a tree but what looks at one row alone.

    Args:
        tree: The tree.
        of_one_list: Whether it is applied to the items of one row's list, not to a column.

    Raises:
        ExpressionError: ``expression_not_rowwise``, or ``bad_expression`` where a name is given.
    """
    kind, held = kind_of(tree)
    if kind == "Function":
        name = function_name(held["function"])
        if name not in (_OF_ONE_LIST if of_one_list else _FUNCTIONS):
            raise _not_rowwise(name)
        inputs = held["input"][:1] if name == "Sql.IsIn" and _is_series(held["input"][1]) else held["input"]
        for part in inputs:
            check_rowwise(part, of_one_list)
        return
    if kind == "Alias" and held[1]:
        message = f"'{held[1]}' stands behind the end of the expression; its column is named by its key"
        raise ExpressionError("bad_expression", message)
    known = kind in ("Alias", "Cast", "Column", "Literal", "Ternary", "Eval")
    if kind == "Literal" and "Series" in held:
        known = False
    if kind == "Eval":
        check_rowwise(held["expr"], of_one_list)
        check_rowwise(held["evaluation"], of_one_list=True)
        return
    if kind == "BinaryExpr":
        known = held["op"] in _OPERATORS
    if kind == "Element":
        known = of_one_list
    if not known:
        raise _not_rowwise(kind)
    for part in parts(tree):
        check_rowwise(part, of_one_list)


def _not_rowwise(name: str) -> ExpressionError:
    message = (
        f"it uses '{name}' of polars, which may make a row's value depend on other rows; an expression looks at one "
        "row alone"
    )
    return ExpressionError("expression_not_rowwise", message)


def _is_series(tree: Tree) -> bool:
    kind, held = kind_of(tree)
    return kind == "Literal" and "Series" in held


def parts(tree: Tree) -> Iterator[Tree]:
    """Gives the trees below a node."""
    kind, held = kind_of(tree)
    if kind == "BinaryExpr":
        yield from (held["left"], held["right"])
    elif kind == "Ternary":
        yield from (held["predicate"], held["truthy"], held["falsy"])
    elif kind == "Function":
        yield from held["input"]
    elif kind == "Cast":
        yield held["expr"]
    elif kind == "Alias":
        yield held[0]
    elif kind == "Eval":
        yield held["expr"]


def nan_as_null(tree: Tree, is_float: Callable[[Tree], bool]) -> Tree:
    """Puts null in the place of NaN wherever numbers are compared.

    Args:
        tree: The tree.
        is_float: Says whether a tree gives fractions.

    Returns:
        The tree itself where nothing was to be done.
    """
    kind, held = kind_of(tree)
    if kind == "BinaryExpr":
        compares = held["op"] in COMPARISONS
        left, right = (_compared(held[side], is_float, compares) for side in ("left", "right"))
        if left is held["left"] and right is held["right"]:
            return tree
        return {kind: {**held, "left": left, "right": right}}
    if kind == "Function":
        name = function_name(held["function"])
        compared = _COMPARED.get(name, ())
        inputs = [_compared(part, is_float, at in compared) for at, part in enumerate(held["input"])]
        same = all(new is old for new, old in zip(inputs, held["input"], strict=True))
        return tree if same else {kind: {**held, "input": inputs}}
    if kind in ("Ternary", "Cast"):
        changed = {
            key: nan_as_null(part, is_float)
            for key, part in held.items()
            if key in ("predicate", "truthy", "falsy", "expr")
        }
        return (
            tree if all(held[key] is part for key, part in changed.items()) else {kind: {**held, **changed}}
        )
    return tree


_COMPARED: Final[Mapping[str, tuple[int, ...]]] = {
    **{f"Sql.Binary.{name}": (0, 1) for name in COMPARISONS},
    "Sql.IsIn": (0,),
    "ListExpr.Contains": (1,),
}
"""Which arguments of a function are compared with something."""


def _compared(tree: Tree, is_float: Callable[[Tree], bool], compares: bool) -> Tree:
    inner = nan_as_null(tree, is_float)
    if not compares or kind_of(tree)[0] == "Literal" or not is_float(inner):
        return inner
    is_number = {"Function": {"input": [inner], "function": {"Boolean": "IsNotNan"}}}
    return {"Ternary": {"predicate": is_number, "truthy": inner, "falsy": _NULL}}


def may_be_null(tree: Tree, types: Mapping[str, Type]) -> bool:
    """Says whether a tree can give null for a row.

    Args:
        tree: The tree, with what ``nan_as_null`` has put in.
        types: The types of the columns that it reads.
    """
    kind, held = kind_of(tree)
    if kind == "Column":
        return types[held].nullable
    if kind == "Literal":
        return bool(tree == _NULL)
    if kind == "Ternary":
        return may_be_null(held["truthy"], types) or may_be_null(held["falsy"], types)
    if kind == "Cast":
        return may_be_null(held["expr"], types) or not _cannot_fail(held)
    if kind == "BinaryExpr" and held["op"] in _NULL_SAFE:
        return False
    if kind == "Function":
        return _function_may_be_null(function_name(held["function"]), held, types)
    return any(may_be_null(part, types) for part in parts(tree))


def _cannot_fail(cast: Mapping[str, Any]) -> bool:
    """Says whether a cast gives a value for every value: a strict one raises instead, any scalar can be text."""
    if cast["options"] == "Strict":
        return True
    inner, held = kind_of(cast["expr"])
    is_length = inner == "Function" and function_name(held["function"]) in ("StringExpr.LenChars",)
    return is_length or cast["dtype"] in ({"Literal": "String"}, {"Literal": {"List": "String"}})


def _function_may_be_null(name: str, held: Mapping[str, Any], types: Mapping[str, Type]) -> bool:
    inputs = held["input"]
    rule = _FUNCTIONS.get(name, _ANY)
    if rule == _NEVER:
        return False
    if name in _NULLS_AS_DEFAULTS:
        inputs = [inputs[0], *(part for part in inputs[1:] if part != _NULL)]
    if name == "Sql.IsIn":
        inputs, rule = inputs[:1], _ANY if _is_series(inputs[1]) else _MAY
    nulls = [may_be_null(part, types) for part in inputs]
    if rule == _ALL:
        return all(nulls)
    if any(nulls):
        return True
    return rule == _MAY and not _has_value(name, held, types)


def _has_value(name: str, held: Mapping[str, Any], types: Mapping[str, Type]) -> bool:
    """Says whether a function that can give null by itself does not do so here."""
    inputs = held["input"]
    if name in ("Sql.Binary.IntDiv", "Sql.Binary.Rem"):
        return (_integer(inputs[1]) or 0) != 0
    kind, column = kind_of(inputs[0])
    type_ = types[column] if kind == "Column" else None
    if name == "StructExpr.FieldByName":
        field = held["function"]["StructExpr"]["FieldByName"]
        return isinstance(type_, Row) and not dict(type_.fields)[field].nullable
    if not isinstance(type_, Array) or type_.shape is None or has_null_items(type_):
        return False
    at = _integer(inputs[1]) if name == "ListExpr.Get" else 0
    return at is not None and -type_.shape[0] <= at < type_.shape[0]


def _integer(tree: Tree) -> int | None:
    kind, held = kind_of(tree)
    found = (
        held.get("Dyn", {}).get("Int") if kind == "Literal" and isinstance(held.get("Dyn"), dict) else None
    )
    return found if isinstance(found, int) else None
