"""Which expressions can give null for a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from beam_ensembles.graph.expressions.functions import ALL, ANY, MAY, NEVER, ROWWISE, function_name
from beam_ensembles.graph.expressions.trees import NULL, Tree, is_series, kind_of, parts
from beam_ensembles.graph.expressions.types import has_null_items
from beam_ensembles.types import Array, Row, Type

_NULL_SAFE: Final = frozenset(("EqValidity", "NotEqValidity"))
_NULLS_AS_DEFAULTS: Final = frozenset(
    ("StringExpr.Slice", "StringExpr.StripChars", "StringExpr.StripCharsEnd", "StringExpr.StripCharsStart")
)


def may_be_null(tree: Tree, types: Mapping[str, Type]) -> bool:
    """Returns whether a tree can give null for a row.

    Args:
        tree: The tree, with what ``nan_as_null`` has put in.
        types: The types of the columns that it reads.
    """
    kind, held = kind_of(tree)
    if kind == "Column":
        return types[held].nullable
    if kind == "Literal":
        return bool(tree == NULL)
    if kind == "Ternary":
        return may_be_null(held["truthy"], types) or may_be_null(held["falsy"], types)
    if kind == "Cast":
        return may_be_null(held["expr"], types) or not _cannot_fail(held)
    if kind == "BinaryExpr" and held["op"] in _NULL_SAFE:
        return False
    if kind == "Function":
        return _function_may_be_null(function_name(held["function"]), held, types)
    return any(may_be_null(part, types) for part in parts(tree))


def items_may_be_null(tree: Tree, types: Mapping[str, Type]) -> bool:
    """Returns whether an item of a list that a tree gives can be null; takes what ``may_be_null`` does."""
    kind, held = kind_of(tree)
    if kind == "Column":
        return has_null_items(types[held])
    if kind == "Cast" and "List" in held["dtype"]["Literal"] and not _cannot_fail(held):
        return True
    return any(items_may_be_null(part, types) for part in parts(tree))


def _cannot_fail(cast: Mapping[str, Any]) -> bool:
    """Returns whether a cast gives a value for every value: a strict one raises instead, any scalar can be text."""
    if cast["options"] == "Strict":
        return True
    inner, held = kind_of(cast["expr"])
    is_length = inner == "Function" and function_name(held["function"]) in ("StringExpr.LenChars",)
    return is_length or cast["dtype"] in ({"Literal": "String"}, {"Literal": {"List": "String"}})


def _function_may_be_null(name: str, held: Mapping[str, Any], types: Mapping[str, Type]) -> bool:
    inputs = held["input"]
    rule = ROWWISE.get(name, ANY)
    if rule == NEVER:
        return False
    if name in _NULLS_AS_DEFAULTS:
        inputs = [inputs[0], *(part for part in inputs[1:] if part != NULL)]
    if name == "Sql.IsIn":
        inputs, rule = inputs[:1], ANY if is_series(inputs[1]) else MAY
    nulls = [may_be_null(part, types) for part in inputs]
    if rule == ALL:
        return all(nulls)
    if any(nulls):
        return True
    return rule == MAY and not _has_value(name, held, types)


def _has_value(name: str, held: Mapping[str, Any], types: Mapping[str, Type]) -> bool:
    """Returns whether a function that can give null by itself does not do so here."""
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
