"""Which fields the rows of an untyped file have, and of which type all values of each are.

A field's type is what Arrow infers, chunk by chunk: truth values, whole numbers of 64 bits, numbers, text, lists and
structs of them. Whole numbers and others together are numbers, unless one has more digits than a double holds; a field
without any value is text. A field whose values have no type in common is text too: the JSON of each value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from beam_ensembles.columns.arrow_types import is_list
from beam_ensembles.errors import InvalidEnsemble, Problem
from beam_ensembles.limits import MOST_ROW_FIELDS
from beam_ensembles.tables.arrow import arrow_type, json_text_field
from beam_ensembles.tables.file_problems import FILE
from beam_ensembles.types import Type

_EXACT_IN_DOUBLE: Final = 2**53
_WIDE: Final = pa.decimal128(19)
"""Stands for whole numbers that do not all fit into a double, until all chunks have been seen."""
_NESTED: Final = (dict, list)
_Fields: TypeAlias = dict[str, "_Fields"]
"""The fields of rows, and within each the fields of the rows that are its values."""


class Survey:
    """Collects the fields of rows, chunk by chunk.

    Args:
        inputs: Type of each field that the ensemble reads: those are written as they are declared.
        typed: Whether types are looked for, and fields within fields are counted; else there are names alone.
    """

    def __init__(self, inputs: Mapping[str, Type], *, typed: bool = True) -> None:
        self._inputs, self._typed = inputs, typed
        self._types: dict[str, pa.DataType | None] = {}
        self._known: _Fields = {}
        self._count = 0

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields in the order in which they were first seen."""
        return tuple(self._types)

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Takes the fields of some rows in.

        Raises:
            InvalidEnsemble: ``bad_file``: they are too many. A row of few bytes would have a value of each.
        """
        self._count_fields(rows)
        for name in dict.fromkeys(name for row in rows for name in row):
            if name in self._inputs or not self._typed:
                self._types[name] = None
                continue
            known = self._types.setdefault(name, pa.null())
            if known is not None:
                self._types[name] = _common(known, _inferred([row.get(name) for row in rows]))

    def _count_fields(self, rows: Sequence[Mapping[str, Any]]) -> None:
        waiting: list[tuple[Any, _Fields]] = [(row, self._known) for row in rows]
        while waiting:
            value, known = waiting.pop()
            if isinstance(value, list):
                waiting.extend((item, known) for item in value if item and item.__class__ in _NESTED)
                continue
            for name, inner in value.items():
                if name not in known:
                    known[name] = {}
                    self._count += 1
                if self._typed and inner and inner.__class__ in _NESTED:
                    waiting.append((inner, known[name]))
            if self._count > MOST_ROW_FIELDS:
                raise _too_many()

    def schema(self) -> pa.Schema:
        """Returns the fields with their types."""
        return pa.schema([self._field(name, found) for name, found in self._types.items()])

    def _field(self, name: str, found: pa.DataType | None) -> pa.Field:
        if name in self._inputs:
            return pa.field(name, arrow_type(self._inputs[name]))
        settled = None if found is None else _settled(found)
        return json_text_field(name) if settled is None else pa.field(name, settled)


def _too_many() -> InvalidEnsemble:
    text = (
        f"the file's rows have more than {MOST_ROW_FIELDS:,} different fields together, and each row would get a value "
        "of each; write .jsonl, where a row keeps its own"
    )
    return InvalidEnsemble([Problem(FILE, "bad_file", text)])


def _inferred(values: Sequence[Any]) -> pa.DataType | None:
    try:
        return _marked(pa.array(values))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        return None


def _marked(array: pa.Array) -> pa.DataType:
    """Returns an array's type with those of its whole numbers marked that do not fit into a double."""
    if pa.types.is_decimal(array.type):
        raise pa.ArrowInvalid("a number has more digits than a double holds")
    if pa.types.is_integer(array.type):
        limits = pc.min_max(array).as_py()
        wide = max(-(limits["min"] or 0), limits["max"] or 0) > _EXACT_IN_DOUBLE
        return _WIDE if wide else array.type
    if is_list(array.type):
        return pa.list_(_marked(array.flatten()))
    if pa.types.is_struct(array.type):
        fields = zip(array.type, array.flatten(), strict=True)
        return pa.struct([(field.name, _marked(values)) for field, values in fields])
    return array.type


def _common(one: pa.DataType, other: pa.DataType | None) -> pa.DataType | None:
    """Returns the type that holds the values of both, or None where there is none."""
    if other is None or one == other or pa.types.is_null(other):
        return other if other is None else one
    if pa.types.is_null(one):
        return other
    if {one, other} == {pa.int64(), _WIDE}:
        return _WIDE
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if is_list(one) and is_list(other):
        value = _common(one.value_type, other.value_type)
        return None if value is None else pa.list_(value)
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return _common_struct(one, other)
    return None


def _common_struct(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    fields = {field.name: field.type for field in one}
    for field in other:
        found = _common(fields.get(field.name, pa.null()), field.type)
        if found is None:
            return None
        fields[field.name] = found
    return pa.struct(list(fields.items()))


def _settled(found: pa.DataType) -> pa.DataType | None:
    """Returns the type to write, or None where Parquet has none: it takes no struct without fields."""
    if pa.types.is_null(found):
        return pa.string()
    if found == _WIDE:
        return pa.int64()
    if is_list(found):
        value = _settled(found.value_type)
        return None if value is None else pa.list_(value)
    if pa.types.is_struct(found):
        fields = [(field.name, _settled(field.type)) for field in found]
        return pa.struct(fields) if fields and all(type_ is not None for _, type_ in fields) else None
    return found
