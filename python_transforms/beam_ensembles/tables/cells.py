"""The text of CSV cells <-> values, a whole column at once where nothing is wrong with it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from beam_ensembles.columns.exact_numbers import whole_number
from beam_ensembles.tables.json_text import Parser, from_json, text_in_json
from beam_ensembles.types import BYTES, STRING, TIMESTAMP, Scalar, Type, dtype_of

_BOOLEANS: Final = {"true": True, "false": False, "1": True, "0": False}
_AS_THEY_ARE: Final = {str, int, float, type(None)}
"""Types of values of which Python's csv writes the text that reads back as the same value."""
_parsed: Final = Parser()


def values_of_cells(cells: Sequence[str], type_: Type) -> list[Any]:
    """Reads the cells of a column by its declared type.

    Args:
        cells: The cells' text.
        type_: The column's type.

    Returns:
        One value a cell: None for an empty one, and the text itself for one that is not of the type.
    """
    convert = _converter(type_)
    if "" in cells:
        return [None if cell == "" else _value(cell, convert) for cell in cells]
    try:
        return list(map(convert, cells))
    except (ValueError, KeyError, RecursionError):
        return [_value(cell, convert) for cell in cells]


def _value(cell: str, convert: Callable[[str], Any]) -> Any:
    try:
        return convert(cell)
    except (ValueError, KeyError, RecursionError):
        return cell


def _converter(type_: Type) -> Callable[[str], Any]:
    plain = type_.required()
    if plain == STRING:
        return str
    if plain in (BYTES, TIMESTAMP):
        return lambda cell: from_json(cell, plain)
    if not isinstance(plain, Scalar):
        return lambda cell: from_json(_parsed(cell), plain)
    dtype = dtype_of(plain)
    if dtype is not None and dtype.kind == "b":
        return lambda cell: _BOOLEANS[cell.strip().lower()]
    return _float if dtype is not None and dtype.kind == "f" else _int


def _float(cell: str) -> float:
    if "_" in cell:  # Python's own way to group digits, which no file means
        raise ValueError(cell)
    found = float(cell)
    if math.isinf(found) and any(map(str.isdigit, cell)):
        raise ValueError(cell)
    return found


def _int(cell: str) -> int:
    if "_" in cell:
        raise ValueError(cell)
    try:
        return int(cell)
    except ValueError:
        return whole_number(_decimal(cell))


def _decimal(cell: str) -> Decimal:
    try:
        return Decimal(cell)
    except InvalidOperation:
        raise ValueError(cell) from None


def cells_of_values(values: Sequence[Any]) -> Sequence[Any]:
    """Returns what to hand to Python's csv writer for the values of a column; None becomes an empty cell."""
    if set(map(type, values)) <= _AS_THEY_ARE:
        return values
    return [_cell(value) for value in values]


def _cell(value: Any) -> Any:
    return value if type(value) in _AS_THEY_ARE else text_in_json(value)
