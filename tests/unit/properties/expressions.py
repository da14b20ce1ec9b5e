"""Expressions, each in SQL and in Python, as ``docs/reference/expressions.md`` says what they give."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from tests.unit.properties.plain import Expression, Refused

Write = Callable[..., Any]


def quotient(one: float, other: float) -> float:
    """Divides as IEEE 754 says."""
    if other != 0:
        return one / other
    if one == 0 or math.isnan(one):
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1.0, other)


def compared(compare: Callable[[Any, Any], bool]) -> Write:
    """A comparison: null where either side is null or NaN."""

    def found(one: Any, other: Any) -> bool | None:
        return None if _null(one) is None or _null(other) is None else compare(one, other)

    return found


def _null(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _strict(compute: Callable[..., Any]) -> Write:
    return lambda *values: None if any(value is None for value in values) else compute(*values)


def _and(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _or(one: bool | None, other: bool | None) -> bool | None:
    if one is True or other is True:
        return True
    return None if one is None or other is None else False


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise Refused("expression_failed") from None


GREATER = compared(lambda one, other: one > other)

KNOWN: Final[dict[str, tuple[tuple[str, tuple[str, ...], Write], ...]]] = {
    "double": (
        ("{} + 1", ("double",), _strict(lambda x: x + 1)),
        ("{} * {}", ("double", "double"), _strict(lambda x, y: x * y)),
        ("{} / {}", ("double", "double"), _strict(quotient)),
        ("COALESCE({}, 0.5)", ("double",), lambda x: 0.5 if x is None else x),
        (
            "CASE WHEN {} > 0.5 THEN {} ELSE -1.5 END",
            ("double", "double"),
            lambda x, y: y if GREATER(x, 0.5) else -1.5,
        ),
        ("IF({}, {}, 0.0)", ("boolean", "double"), lambda c, x: x if c else 0.0),
        ("{}[2]", ("tensor",), _strict(lambda p: p[1])),
        ("{}[1]", ("doubles",), _strict(lambda p: p[0] if p else None)),
    ),
    "int64": (
        ("{} + 1", ("int64",), _strict(lambda i: i + 1)),
        ("{} * {}", ("int64", "int64"), _strict(lambda i, j: i * j)),
        ("COALESCE({}, 0)", ("int64",), lambda i: 0 if i is None else i),
        ("CAST({} AS BIGINT)", ("string",), _strict(_whole)),
    ),
    "boolean": (
        ("{} > 0.5", ("double",), lambda x: GREATER(x, 0.5)),
        ("{} < {}", ("double", "double"), compared(lambda x, y: x < y)),
        ("{} BETWEEN 0 AND 1", ("double",), lambda x: compared(lambda x, _: 0 <= x <= 1)(x, 0)),
        ("{} IS NULL", ("double",), lambda x: x is None),
        (
            "{} IS DISTINCT FROM {}",
            ("double", "double"),
            lambda x, y: _null(x) != _null(y),
        ),
        ("{} = 1", ("int64",), _strict(lambda i: i == 1)),
        ("{} IN (0, 2)", ("int64",), _strict(lambda i: i in (0, 2))),
        ("NOT {}", ("boolean",), _strict(lambda b: not b)),
        ("{} AND {}", ("boolean", "boolean"), _and),
        ("{} OR {}", ("boolean", "boolean"), _or),
        ("{} = 'a'", ("string",), _strict(lambda s: s == "a")),
        ("{} IS NOT NULL", ("string",), lambda s: s is not None),
        ("CAST({} AS BIGINT) > 0", ("string",), _strict(lambda s: _whole(s) > 0)),
        ("{}[3] > 0", ("tensor",), lambda p: None if p is None else GREATER(p[2], 0)),
    ),
    "string": (
        ("UPPER({})", ("string",), _strict(str.upper)),
        ("{} || {}", ("string", "string"), _strict(lambda s, t: s + t)),
        ("COALESCE({}, 'none')", ("string",), lambda s: "none" if s is None else s),
        ("CASE WHEN {} THEN 'a' ELSE 'b' END", ("boolean",), lambda b: "a" if b else "b"),
        ("CASE WHEN {} THEN {} END", ("boolean", "string"), lambda b, s: s if b else None),
    ),
}
"""By what they give: the text, what stands in its gaps, and what it gives for these."""


def written(text: str, columns: tuple[str, ...], compute: Write) -> Expression:
    """Puts columns into an expression."""
    return Expression(
        text.format(*columns),
        columns,
        lambda row: compute(*(row[column] for column in columns)),
    )
