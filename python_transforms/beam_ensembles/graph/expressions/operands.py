"""What the parts of an expression are, and whether operators get what they can take.

polars checks most of that itself when it settles a type; what it lets pass and fails on only when it runs is here.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from beam_ensembles.graph.expressions.errors import type_names
from beam_ensembles.graph.expressions.functions import function_name
from beam_ensembles.graph.expressions.trees import COMPARISONS, Tree, kind_of, parts
from beam_ensembles.graph.expressions.types import polars_type
from beam_ensembles.spec.sql_tokens import ExpressionError
from beam_ensembles.types import Type

if TYPE_CHECKING:
    import polars as pl

TOO_DEEP: Final = "it is nested too deep, or has too many operators in a row; make it several columns"

_MOST_CHARACTERS: Final = 1_000_000
_OF_NUMBERS: Final = {"Pow.Sqrt": "SQRT", "Pow.Cbrt": "CBRT", "Atan2": "ATAN2"}
_DIRECTIVE: Final = re.compile(r"%[-_0]?[.:#]*\d?.", re.DOTALL)
_MISREAD: Final = {
    "%f": "it would take the digits for nanoseconds, so that .5 is not half a second; write '%S%.f' for '%S.%f'",
    "%9f": "it would cut off the nanoseconds; write '%S%.f' for '%S.%9f'",
    "%Z": "it would pass over the name of the time zone; write '%z' for an offset such as +02:00",
}
"""What polars reads otherwise than Python and SQL do, without an error."""
_OF_TRUTHS: Final = ("And", "Or", "Xor")


def expression_of(tree: Tree) -> pl.Expr:
    """Creates an expression of a tree.

    Raises:
        ExpressionError: It is nested deeper than polars reads.
    """
    import polars as pl

    text = json.dumps(tree)
    try:
        if len(text) <= _MOST_CHARACTERS:
            return pl.Expr.deserialize(io.BytesIO(text.encode()), format="json")
    except pl.exceptions.ComputeError:
        pass
    raise ExpressionError("bad_expression", TOO_DEEP)


def empty_frame(types: Mapping[str, Type]) -> pl.LazyFrame:
    """Creates a frame of columns without rows."""
    import polars as pl

    return pl.LazyFrame(schema={column: polars_type(type_) for column, type_ in types.items()})


class Operands:
    """The parts of expressions over some columns.

    Args:
        types: The types of the columns.
    """

    def __init__(self, types: Mapping[str, Type]) -> None:
        self._frame = empty_frame(types)

    def dtype(self, tree: Tree) -> pl.DataType | None:
        """Returns what a part gives; None where polars cannot tell, because the part itself is wrong."""
        import polars as pl

        try:
            return self._frame.select(found=expression_of(tree)).collect_schema()["found"]
        except pl.exceptions.PolarsError:
            return None

    def is_float(self, tree: Tree) -> bool:
        """Returns whether a part gives fractions."""
        dtype = self.dtype(tree)
        return dtype is not None and dtype.is_float()

    def check(self, tree: Tree) -> None:
        """Checks what polars does not.

        Raises:
            ExpressionError: ``expression_type``: a root of a text, ``AND`` of a number and a text, a text or a number,
                a timestamp beside a number, ``REPLACE`` of what a column holds. ``bad_expression``: a text becomes a
                timestamp without a format.
        """
        for part in parts(tree):
            self.check(part)
        kind, held = kind_of(tree)
        if kind == "Function" and function_name(held["function"]) == "Coalesce":
            self._check_same("COALESCE gives one of", held["input"])
        if kind == "Function" and function_name(held["function"]) in ("MaxHorizontal", "MinHorizontal"):
            self._check_same("GREATEST and LEAST give one of", held["input"])
        if kind == "Function" and function_name(held["function"]) == "StringExpr.Strptime":
            _check_format(held["function"]["StringExpr"]["Strptime"])
        if kind == "Function" and function_name(held["function"]) == "StringExpr.Replace":
            _check_constants(held["input"][1:])
        if kind == "Cast" and kind_of(held["expr"])[0] != "Literal":
            self._check_cast(tree, held["expr"])
        if kind == "Ternary":
            self._check_same("CASE and IF give one of", [held["truthy"], held["falsy"]])
        if kind == "BinaryExpr" and held["op"] in COMPARISONS:
            self._check_same("it compares", [held["left"], held["right"]])
        if kind == "Function" and function_name(held["function"]) in _OF_NUMBERS:
            for part in held["input"]:
                dtype = self.dtype(part)
                if dtype is not None and not (dtype.is_numeric() or _is_truth(dtype)):
                    name = _OF_NUMBERS[function_name(held["function"])]
                    raise ExpressionError(
                        "expression_type", f"{name} takes numbers, not {type_names(str(dtype))}"
                    )
        if kind == "BinaryExpr" and held["op"] in _OF_TRUTHS:
            left, right = (self.dtype(_last(held[side])) for side in ("left", "right"))
            if left is None or right is None or _go_together(left, right):
                return
            found = type_names(f"{left} and {right}")
            text = f"{held['op'].upper()} takes conditions on both sides, found {found}"
            raise ExpressionError("expression_type", text)

    def _check_cast(self, tree: Tree, inner: Tree) -> None:
        """Refuses casts of texts that fail for every row."""
        given, wanted = self.dtype(inner), self.dtype(tree)
        if given is None or wanted is None or str(given) != "String":
            return
        if wanted.is_temporal():
            text = f"a string is not cast to a {type_names(str(wanted))}; write STRPTIME(text, '%Y-%m-%d')"
            raise ExpressionError("expression_type", text)
        if str(wanted) == "Boolean":
            raise ExpressionError(
                "expression_type", "a string is not cast to a boolean; compare it, as in text = 'true'"
            )

    def _check_same(self, what: str, trees: Sequence[Tree]) -> None:
        """Refuses texts, numbers and points in time beside each other, which polars makes texts or numbers of."""
        dtypes = [dtype for dtype in map(self.dtype, trees) if dtype is not None]
        if len({family for family in map(_family, dtypes) if family}) > 1:
            found = " and ".join(dict.fromkeys(type_names(str(dtype)) for dtype in dtypes))
            raise ExpressionError(
                "expression_type", f"{what} {found}, which do not go together; cast one of them"
            )


def _check_constants(arguments: Sequence[Tree]) -> None:
    """Refuses a ``REPLACE`` whose texts are other ones for each row: polars cannot compute it."""
    if any(map(_reads_column, arguments)):
        text = "REPLACE(text, old, new) takes constants for 'old' and 'new', not columns"
        raise ExpressionError("expression_type", text)


def _reads_column(tree: Tree) -> bool:
    return kind_of(tree)[0] == "Column" or any(map(_reads_column, parts(tree)))


def _check_format(options: Sequence[Any]) -> None:
    """Refuses to guess whether the day or the month stands first, and directives that are read wrongly."""
    if options[1]["format"] is None:
        raise ExpressionError(
            "bad_expression", "a text becomes a timestamp by a format only: write STRPTIME(text, '%Y-%m-%d')"
        )
    for directive in _DIRECTIVE.findall(options[1]["format"]):
        if directive in _MISREAD:
            raise ExpressionError(
                "bad_expression", f"STRPTIME cannot read '{directive}': {_MISREAD[directive]}"
            )


def _family(dtype: pl.DataType) -> str:
    if dtype.is_numeric() or str(dtype) == "Boolean":
        return "number"
    return "time" if dtype.is_temporal() else "text" if str(dtype) == "String" else ""


def _last(tree: Tree) -> Tree:
    """The last part of a chain of ``AND``, which was checked to be like the others and is not nested as deep."""
    kind, held = kind_of(tree)
    return _last(held["right"]) if kind == "BinaryExpr" and held["op"] in _OF_TRUTHS else tree


def _is_truth(dtype: pl.DataType) -> bool:
    return str(dtype) in ("Boolean", "Null")


def _go_together(left: pl.DataType, right: pl.DataType) -> bool:
    return (_is_truth(left) and _is_truth(right)) or (left.is_integer() and right.is_integer())
