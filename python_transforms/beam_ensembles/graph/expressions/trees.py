"""A parsed expression as the tree that polars writes of it: what may stand in it, and what NaN is in it.

A tree is plain JSON: ``{"BinaryExpr": {"left": ..., "op": "Gt", "right": ...}}``. Only what is on the lists below may
stand in it, so that whatever polars learns in later versions is refused until somebody has looked at it. polars does
not promise the form: ``tests/golden/expressions/trees.json`` holds it for 2.1, and none from 3 on is allowed.
Another parser would type an expression by rules of its own, while polars evaluates it by polars' rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from beam_ensembles.graph.expressions.functions import OF_ONE_LIST, ROWWISE, function_name
from beam_ensembles.spec.sql_tokens import ExpressionError

Tree = Any
"""A node of the tree: a word, or a mapping from its kind to what it holds."""

COMPARISONS: Final = frozenset(("Eq", "NotEq", "Lt", "LtEq", "Gt", "GtEq", "EqValidity", "NotEqValidity"))
_OPERATORS: Final = frozenset(
    (
        *COMPARISONS, "Plus", "Minus", "Multiply", "Divide", "RustDivide", "TrueDivide", "FloorDivide", "Modulus",
        "And", "Or", "Xor", "LogicalAnd", "LogicalOr",
    )
)  # fmt: skip

MOST_PADDED: Final = 65_535
"""To how many characters ``LPAD`` and ``RPAD`` fill a text up at most."""

NULL: Final[Tree] = {"Literal": {"Scalar": {"Null": "Null"}}}
"""The constant null."""


def kind_of(tree: Tree) -> tuple[str, Any]:
    """Returns the kind of a tree's node and what it holds."""
    return (tree, None) if isinstance(tree, str) else next(iter(tree.items()))


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
        if name not in (OF_ONE_LIST if of_one_list else ROWWISE):
            raise _not_rowwise(name)
        inputs = held["input"][:1] if name == "Sql.IsIn" and is_series(held["input"][1]) else held["input"]
        for part in inputs:
            check_rowwise(part, of_one_list)
        return
    if kind == "Alias" and held[1]:
        message = f"'{held[1]}' comes after the end of the expression; its column is named by its key"
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
        f"it holds something ('{name.rpartition('.')[2]}') that may make a row's value depend on other rows; "
        "an expression looks at one row alone"
    )
    return ExpressionError("expression_not_rowwise", message)


def is_series(tree: Tree) -> bool:
    """Returns whether a tree is a list of constants, such as that of ``IN``."""
    kind, held = kind_of(tree)
    return kind == "Literal" and "Series" in held


def with_inputs(tree: Tree, *inputs: Tree) -> Tree:
    """Returns a function's tree with other inputs; the tree itself where they are the same."""
    held = tree["Function"]
    same = all(new is old for new, old in zip(inputs, held["input"], strict=True))
    return tree if same else {"Function": {**held, "input": list(inputs)}}


def cast(tree: Tree, dtype: Any) -> Tree:
    """Returns a tree whose values are made values of a dtype; a row with another one fails."""
    return {"Cast": {"expr": tree, "dtype": {"Literal": dtype}, "options": "Strict"}}


def function(name: Tree, *inputs: Tree) -> Tree:
    """Returns the call of a function."""
    return {"Function": {"input": list(inputs), "function": name}}


def operator(left: Tree, name: str, right: Tree) -> Tree:
    """Returns an operator with its operands."""
    return {"BinaryExpr": {"left": left, "op": name, "right": right}}


def choose(predicate: Tree, truthy: Tree, falsy: Tree) -> Tree:
    """Returns one tree where a condition holds, and another where it does not or is null."""
    return {"Ternary": {"predicate": predicate, "truthy": truthy, "falsy": falsy}}


def failing(is_wrong: Tree, value: Tree, mark: str) -> Tree:
    """Returns a double that is null, and fails the rows where a condition holds.

    Args:
        is_wrong: The condition.
        value: What the message of such a row names.
        mark: What it says of the value; one of those that ``errors.reason`` knows.
    """
    concat = {"StringExpr": {"ConcatHorizontal": {"delimiter": "", "ignore_nulls": False}}}
    said: Tree = {"Literal": {"Scalar": {"String": mark}}}
    # a text that is no number: making a number of it fails
    text = choose(is_wrong, function(concat, cast(value, "String"), said), NULL)
    return cast(text, "Float64")


def parts(tree: Tree) -> Iterator[Tree]:
    """Yields the trees below a node."""
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
    return {"Ternary": {"predicate": is_number, "truthy": inner, "falsy": NULL}}
