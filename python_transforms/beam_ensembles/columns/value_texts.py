"""The texts of a column's values, as templates write them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from beam_ensembles.graph.kinds import Columns, valid_rows
from beam_ensembles.types import BOOLEAN, NUMPY_DTYPES, STRING, Array, Scalar, Type

_TRUTH: Final = ("false", "true")


def has_text(type_: Type) -> bool:
    """Whether values of a type have a text: texts, numbers, truth values, and lists of them."""
    if isinstance(type_, Array) and (type_.shape is None or len(type_.shape) == 1):
        type_ = type_.element
    return isinstance(type_, Scalar) and (type_.name == "string" or type_.name in NUMPY_DTYPES)


def texts_of(columns: Columns, name: str, type_: Type, separator: str = ", ", null: str = "") -> list[str]:
    """Returns the text of each row's value: a fraction has the fewest digits that tell it from others of its type.

    Args:
        columns: The columns of some rows.
        name: The column.
        type_: Its type, which has a text (``has_text``).
        separator: The text between the items of a list.
        null: The text of a null, in a list too.
    """
    values, type_ = columns[name], type_.required()
    present = valid_rows(columns, name)
    if isinstance(type_, Array):
        return [
            separator.join(_items(row, type_.element, null)) if has_value else null
            for row, has_value in zip(values, present.tolist(), strict=True)
        ]
    if present.all():
        return _texts(values, type_)
    found = iter(_texts(values[present], type_))
    return [next(found) if has_value else null for has_value in present.tolist()]


def _items(row: Any, type_: Type, null: str) -> list[str]:
    items = list(row)
    type_ = type_.required()
    dtype = NUMPY_DTYPES.get(type_.name) if isinstance(type_, Scalar) else None
    values = np.array([item for item in items if item is not None], dtype=dtype or object)
    texts = iter(_texts(values, type_))
    return [null if item is None else next(texts) for item in items]


def _texts(values: np.ndarray[Any, Any], type_: Type) -> list[str]:
    if type_ == STRING:
        return list(values.tolist())
    if type_ == BOOLEAN:
        return [_TRUTH[value] for value in values.tolist()]
    is_short = values.dtype in (np.float16, np.float32)  # Python's own numbers would have more digits
    return list(map(str, values if is_short else values.tolist()))
