"""The functions of polars that look at one row alone, by the names that they have in its trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

ANY, ALL, NEVER, MAY = "any", "all", "never", "may"
"""When a function gives null: where any of its arguments is, where all are, never, or also by itself."""

ROWWISE: Final[Mapping[str, str]] = {
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
        ANY,
    ),
    **dict.fromkeys(("Coalesce", "FillNull", "MaxHorizontal", "MinHorizontal"), ALL),
    **dict.fromkeys(
        ("Boolean.IsNull", "Boolean.IsNotNull", "StringExpr.ConcatHorizontal"), NEVER
    ),
    **dict.fromkeys(
        (
            "ListExpr.Get", "ListExpr.Max", "ListExpr.Mean", "ListExpr.Min", "Sql.Binary.IntDiv", "Sql.Binary.Rem",
            "StructExpr.FieldByName",
        ),
        MAY,
    ),
}  # fmt: skip
"""The functions that look at one row alone, and when they give null."""

OF_ONE_LIST: Final = frozenset(("FillNull", "Reverse", "Unique"))
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


def function_name(function: Any) -> str:
    """Returns a function's name: ``Abs``, ``StringExpr.Uppercase``, ``Sql.Binary.Div``."""
    if isinstance(function, str):
        return function
    family, inner = next(iter(function.items()))
    if family not in _FAMILIES:
        return str(family)
    if isinstance(inner, str):
        return f"{family}.{inner}"
    name, options = next(iter(inner.items()))
    return f"{family}.{name}.{options}" if name == "Binary" else f"{family}.{name}"
