"""Values of rows <-> columns: a list of Python values to one numpy array and back.

Nothing is cast silently: a null, a text where a number is declared or a list of another length is the error of its
own row. Numbers follow the rule of ``exact_numbers``, within lists, maps and rows, too. The whole column is tried at
once first; only a column with something wrong in it is read row by row.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.columns.exact_numbers import numbers_of
from beam_ensembles.columns.nested_rows import flattened, has_rows, has_tensors, plain, with_dicts, with_rows
from beam_ensembles.columns.number_lists import matrix_of
from beam_ensembles.columns.timestamps import is_finer, whole_micros, with_instants
from beam_ensembles.errors import NodeError
from beam_ensembles.types import STRING, Array, Map, Row, Scalar, Type, dtype_of, row_shape, width_of

_KINDS: Final = {"f": "fiu", "i": "iu", "u": "iu", "b": "b"}
"""Which of numpy's kinds may stand where a kind is declared: whole numbers for floats, never the other way round."""

_TRUTH_VALUES: Final = (bool, np.bool_)

_DATES: Final = (datetime.datetime, datetime.date)
"""What rows of Python may have where a point in time is declared; a date is its midnight, and no zone is UTC."""

_PYTHON_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str, np.str_),
    "bytes": (bytes, np.bytes_),
    "timestamp": (Timestamp,),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Converted:
    """A column made from values.

    Attributes:
        values: The array, one leading item for each row that could be read.
        faults: Index of each row that could not, with the reason.
    """

    values: np.ndarray
    faults: dict[int, NodeError]

    def among(self, places: np.ndarray, others: Mapping[int, NodeError]) -> Converted:
        """Returns the column of more rows: these stand at some places among others that have faults."""
        own = {int(places[at]): error for at, error in self.faults.items()}
        return Converted(self.values, {**others, **own})


def to_column(values: Sequence[Any], type_: Type, name: str) -> Converted:
    """Creates a column of declared type from the values of its rows.

    Args:
        values: One a row: Python values, or numpy scalars and arrays.
        type_: The declared type; a tensor's values may be flat (row-major) or nested. A row in a value is a ``dict``,
            a tuple of its fields in order, or an object with its fields by name; in the column it is a ``dict``.
        name: The column's name, for messages.

    Returns:
        The array and the rows that are not in it. Numbers have the declared dtype and shape ``[N, ...]``; everything
        else is an array of objects.
    """
    if has_rows(type_):
        values = [with_dicts(value, type_) for value in values]
    found = _try(values, type_)
    if found is not None:
        return Converted(found, {})
    faults: dict[int, NodeError] = {}
    good: list[Any] = []
    for index, value in enumerate(values):
        one = _try([value], type_)
        if one is None:
            faults[index] = fault(value, type_, name)
        else:
            good.append(one)
    return Converted(np.concatenate(good) if good else _empty(type_), faults)


def _empty(type_: Type) -> np.ndarray:
    return np.empty((0, *row_shape(type_)), dtype=dtype_of(type_) or object)


def _try(values: Sequence[Any], type_: Type) -> np.ndarray | None:
    """Creates the column at once, or gives None where a single value is not as declared."""
    dtype = dtype_of(type_)
    if dtype is None:
        return _objects(values, type_)
    found = matrix_of(values, width_of(type_) or 0, dtype.kind) if isinstance(type_, Array) else None
    if found is None:
        found = _by_numpy(values, type_, dtype.kind)
    if found is None:
        return None
    shape = (len(values), *row_shape(type_))
    if found.shape != shape:
        if not isinstance(type_, Array) or found.shape != (len(values), width_of(type_)):
            return None
        found = found.reshape(shape)
    return found if found.dtype == dtype else _narrow(found, dtype)


def _by_numpy(values: Sequence[Any], type_: Type, kind: str) -> np.ndarray | None:
    try:
        found = np.array(values)
    except (ValueError, TypeError, OverflowError):
        return None
    if found.dtype.kind not in _KINDS[kind]:
        return numbers_of(values, kind) if kind != "b" and found.dtype.kind in "fO" else None
    return None if kind != "b" and _holds_truth(values, found.ndim) else found


def _holds_truth(values: Sequence[Any], depth: int) -> bool:
    """Returns whether a truth value stands among numbers, where numpy would take it for 0 or 1.

    Where the rows are numpy's own arrays, nobody wrote one, and they are not looked into.
    """
    if len(values) > 0 and type(values[0]) is np.ndarray:
        return False
    items: Iterable[Any] = values
    for _ in range(depth - 1):
        items = itertools.chain.from_iterable(items)
    return not set(map(type, items)).isdisjoint(_TRUTH_VALUES)


def _narrow(found: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    if dtype.kind in "iu" and found.size:
        limits = np.iinfo(dtype)
        if int(found.min()) < limits.min or int(found.max()) > limits.max:
            return None
    with np.errstate(over="ignore"):
        narrowed = found.astype(dtype)
    too_large = dtype.kind == "f" and bool((np.isinf(narrowed) & np.isfinite(found)).any())
    return None if too_large else narrowed


def _objects(values: Sequence[Any], type_: Type) -> np.ndarray | None:
    found = _scalars(values, type_) if isinstance(type_, Scalar) else _nested(values, type_)
    return None if found is None else np.fromiter(found, dtype=object, count=len(found))


def _scalars(values: Sequence[Any], type_: Scalar) -> Sequence[Any] | None:
    allowed = _PYTHON_TYPES.get(type_.name)
    kinds = set(map(type, values))
    if type_.name == "timestamp" and not kinds.isdisjoint(_DATES):
        values = list(map(with_instants, values))
        kinds = set(map(type, values))
    if type(None) in kinds or (allowed and not kinds.issubset(allowed)):
        return None
    if type_.name == "timestamp":
        return whole_micros(values)
    return None if type_.name == "string" and not _are_unicode(values) else values


def _are_unicode(texts: Sequence[str]) -> bool:
    """Returns whether texts can be written as UTF-8; what cannot was read from bytes that are none."""
    if all(map(str.isascii, texts)):
        return True
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def _nested(values: Sequence[Any], type_: Type) -> Sequence[Any] | None:
    """Returns lists, rows or maps with what they hold as it is declared, or None where one of them is not so."""
    if isinstance(type_, Array):
        return _all(_list(value, type_.element) for value in values)
    if not all(isinstance(value, Mapping) for value in values):
        return None
    if isinstance(type_, Map):
        return _maps(values, type_)
    return _rows(values, type_) if isinstance(type_, Row) else None


def _all(found: Iterable[Any]) -> list[Any] | None:
    items = list(found)
    return None if any(item is None for item in items) else items


def _list(value: Any, element: Type) -> Any:
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return None
    elif not isinstance(value, list | tuple):
        return None
    return _items(value, element)


def _rows(values: Sequence[Any], type_: Row) -> Sequence[Any] | None:
    names = [name for name, _ in type_.fields]
    if not all(name in value for value in values for name in names):
        return None
    fields = _all(_items([value[name] for value in values], of) for name, of in type_.fields)
    if fields is None:
        return None
    return [dict(zip(names, row, strict=True)) for row in zip(*fields, strict=True)]


def _maps(values: Sequence[Any], type_: Map) -> Sequence[Any] | None:
    every = itertools.chain.from_iterable
    keys = _items(list(every(values)), type_.key)
    items = _items(list(every(value.values() for value in values)), type_.value)
    if keys is None or items is None:
        return None
    pairs = zip(keys, items, strict=True)
    return [dict(itertools.islice(pairs, len(value))) for value in values]


def _items(items: Any, element: Type) -> Any:
    """Returns the items of a list without fixed length as they are declared, or None where one of them is not so."""
    if len(items) == 0:
        return items
    if element.nullable and any(item is None for item in items):
        present = _items([item for item in items if item is not None], element.required())
        if present is None:
            return None
        found = iter(present)
        return [None if item is None else next(found) for item in items]
    made = _try(items, element.required())
    if made is None:
        return None
    if isinstance(items, np.ndarray):
        return items if items.dtype == made.dtype else made
    return made.tolist()


def fault(value: Any, type_: Type, name: str) -> NodeError:
    """Returns why a value is not as declared: ``null_value``, ``wrong_length`` or ``wrong_value``."""
    if value is None:
        declared = f"the ensemble declares it as {type_}; '{type_}?' allows nulls"
        reason = "what reads it takes no nulls" if type_.nullable else declared
        return NodeError("null_value", f"input '{name}' is null, and {reason}")
    if _has_null(value, type_):
        return NodeError("null_value", f"input '{name}' holds a null among its values, {type_} takes none")
    width = width_of(type_)
    if width is not None and isinstance(type_, Array) and isinstance(value, list | tuple | np.ndarray):
        items = [value] if isinstance(value, np.ndarray) and value.ndim == 0 else value
        if isinstance(value, np.ndarray) and value.ndim > 1 and value.shape != row_shape(type_):
            text = f"input '{name}' is an array of shape {list(value.shape)}, {type_} needs {list(row_shape(type_))}"
            return NodeError("wrong_length", text)
        if len(items) not in (width, row_shape(type_)[0]):
            return NodeError(
                "wrong_length", f"input '{name}' holds {len(items)} values, {type_} needs {width}"
            )
    if _has_bad_text(value):
        return bad_text(name)
    if _is_finer(value):
        return finer_than_micros(name, type_)
    text = f"input '{name}' is {_shown(value)}, which is not of type {type_}"
    if type(value) is Decimal and type_.required() == STRING:
        text += "; a decimal is a number here: declare it double, or an integer where all of them are whole"
    return NodeError("wrong_value", text)


def bad_text(name: str) -> NodeError:
    """Returns the error of a row with a text that is not UTF-8."""
    return NodeError("wrong_value", f"input '{name}' holds a text that is not UTF-8")


def finer_than_micros(name: str, type_: Type) -> NodeError:
    """Returns the error of a row with a point in time that has nanoseconds."""
    what = "has" if isinstance(type_, Scalar) else "holds a timestamp with"
    text = f"input '{name}' {what} nanoseconds, and a timestamp is whole microseconds"
    how = f"{name}: {{type: {type_}, nanoseconds: truncate}}"
    return NodeError("wrong_value", f"{text}; to drop them, declare it as '{how}'")


def _is_finer(value: Any) -> bool:
    """Returns whether a point in time with nanoseconds stands in a value."""
    if isinstance(value, Mapping):
        return any(map(_is_finer, itertools.chain(value.keys(), value.values())))
    return any(map(_is_finer, value)) if isinstance(value, list | tuple) else is_finer(value)


def _has_null(value: Any, type_: Type) -> bool:
    """Returns whether a null stands in a value where its type takes none."""
    if value is None:
        return not type_.nullable
    if isinstance(type_, Array) and (
        isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)
    ):
        return any(_has_null(item, type_.element) for item in value)
    if isinstance(type_, Map) and isinstance(value, Mapping):
        return any(_has_null(item, type_.value) for item in value.values())
    if isinstance(type_, Row) and isinstance(value, Mapping):
        return any(_has_null(value[name], of) for name, of in type_.fields if name in value)
    return False


def _has_bad_text(value: Any) -> bool:
    """Returns whether a text that is not UTF-8 stands in a value."""
    if isinstance(value, str):
        return not _are_unicode([value])
    if isinstance(value, Mapping):
        return any(map(_has_bad_text, itertools.chain(value.keys(), value.values())))
    return isinstance(value, list | tuple) and any(map(_has_bad_text, value))


def _shown(value: Any) -> str:
    text = repr(value)
    if isinstance(value, Decimal):
        return f"{text[:60]} (number)"
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def to_values(
    column: np.ndarray, type_: Type, row: Callable[[dict[str, Any]], Any] | None = None
) -> list[Any]:
    """Returns the values of a column as rows hold them: Python scalars, and flat lists for tensors.

    Args:
        column: The column; a value of a row type is a ``dict`` there.
        type_: Its type.
        row: Makes what the rows hold of such a ``dict``; None leaves it as it is.
    """
    if row is not None and has_rows(type_):
        return [with_rows(value, type_, row) for value in column]
    if column.dtype != object:
        flat = column if column.ndim <= 2 else column.reshape(len(column), -1)
        return list(flat.tolist())
    if has_tensors(type_):
        return [flattened(value, type_) for value in column]
    if isinstance(type_, Array):
        return [plain(value) for value in column]
    return list(column.tolist())


def reader(name: str) -> Callable[[Any], Any]:
    """Returns a fast function from a row object to one of its fields, whatever characters the name has."""
    return operator.attrgetter(name) if "." not in name else lambda row: getattr(row, name)
