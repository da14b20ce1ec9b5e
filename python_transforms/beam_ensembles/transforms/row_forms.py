"""From a PCollection's element type to how its rows are read, and to the element types of the outputs."""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Mapping, Sequence, Set
from typing import Any, Final

import numpy as np
import pyarrow as pa
from apache_beam.portability.api import schema_pb2
from apache_beam.typehints import row_type, schemas, typehints
from apache_beam.utils.timestamp import Timestamp

from beam_ensembles.beam_repairs.row_coder import RowType
from beam_ensembles.columns.logical_types import reader_of
from beam_ensembles.columns.rows import ERROR_FIELDS, KeyedRows, ObjectRows, RowForm, TupleRows
from beam_ensembles.columns.schemas import describe, field_type, schema_of, type_of
from beam_ensembles.errors import InvalidRows, Problem
from beam_ensembles.tables.arrow import type_of_arrow
from beam_ensembles.tables.file_problems import refuse_duplicates
from beam_ensembles.types import STRING, Array, Map, Row, Type, is_portable


@dataclasses.dataclass(frozen=True)
class InputRows:
    """The rows of a PCollection.

    Attributes:
        schema: Their schema.
        hint: The element type of the rows themselves (of the value, for pairs).
        key: The element type of the key, for pairs; None for plain rows.
        types: Type of each field by name where the rows come in Arrow's memory, which has more types than schemas
            have; None for a type that the language has no word for.
    """

    schema: schema_pb2.Schema
    hint: Any
    key: Any = None
    types: Mapping[str, Type | None] | None = None

    @functools.cached_property
    def fields(self) -> dict[str, schema_pb2.FieldType]:
        """Type of each field by name, in order."""
        return {field.name: field.type for field in self.schema.fields}

    @property
    def is_python(self) -> bool:
        """Whether the rows are a Python pipeline's own objects, whose numbers are Python's ``int`` and ``float``."""
        return not isinstance(self.hint, RowType)

    def type_of(self, field: str) -> Type | None:
        """Returns a field's type, or None where the type language has no word for it."""
        return type_of(self.fields[field]) if self.types is None else self.types[field]

    def describe(self, field: str) -> str:
        """Names a field's type for a message."""
        type_ = self.type_of(field)
        return describe(self.fields[field]) if type_ is None else str(type_)


def arrow_input_rows(schema: pa.Schema) -> InputRows:
    """Returns the rows of a PCollection whose elements are Arrow record batches or tables.

    Raises:
        InvalidEnsemble: Two columns have one name.
    """
    refuse_duplicates(schema.names, "the schema")
    types = {field.name: _type_of_arrow(field) for field in schema}
    fields = [_placeholder(field, types[field.name]) for field in schema]
    rows = schema_pb2.Schema(fields=fields)
    return InputRows(rows, RowType(rows), types=types)


def _type_of_arrow(field: pa.Field) -> Type | None:
    found = type_of_arrow(field.type)
    return found.optional() if found is not None and field.nullable else found


def _placeholder(field: pa.Field, type_: Type | None) -> schema_pb2.Field:
    """Returns a field that stands for one in Arrow's memory: it never crosses, only its name and type are asked for."""
    if type_ is not None and is_portable(type_):
        return schema_pb2.Field(name=field.name, type=field_type(type_))
    urn = f"arrow:{field.type}"
    return schema_pb2.Field(
        name=field.name, type=schema_pb2.FieldType(logical_type=schema_pb2.LogicalType(urn=urn))
    )


def input_rows(hint: Any) -> InputRows:
    """Finds the schema of a PCollection's elements.

    Args:
        hint: The PCollection's element type.

    Raises:
        InvalidRows: The elements are not rows.
    """
    key = None
    if isinstance(hint, typehints.TupleConstraint) and len(hint.tuple_types) == 2:
        key, hint = hint.tuple_types
    if isinstance(hint, RowType):
        return InputRows(hint.schema, hint, key)
    try:
        return InputRows(schemas.schema_from_element_type(hint), hint, key)
    except (TypeError, ValueError, AttributeError) as error:
        found = getattr(hint, "__name__", None) or str(hint)
        raise InvalidRows([Problem("input", "no_schema", _NO_SCHEMA.format(found=found))]) from error


_NO_SCHEMA: Final = (
    "the incoming PCollection's elements ({found}) are not rows with a schema; make them rows "
    "(in Python: beam.Map(lambda x: beam.Row(name=...)), or a NamedTuple given to .with_output_types(...), which a "
    "lambda or function needs where Beam cannot tell what it returns), or pairs of a key and a row"
)


@dataclasses.dataclass(frozen=True)
class OutputRows:
    """How the outputs' elements are made, and of which type they are.

    Attributes:
        form: Reads and builds elements.
        hint: Element type of the main output.
        errors_hint: Element type of the error output.
    """

    form: RowForm
    hint: Any
    errors_hint: Any


def output_rows(
    rows: InputRows, kept: Sequence[str], added: Sequence[tuple[str, Type]], turned: Set[str] = frozenset()
) -> OutputRows:
    """Settles the outputs: the kept fields as they came, then the added columns.

    Args:
        rows: The incoming rows.
        kept: Names of the fields that the output keeps, in order.
        added: Names and types of the columns that it gains.
        turned: Fields that hold rows whose fields come in another order than the ensemble declares.
    """
    make = _tuple_rows if isinstance(rows.hint, RowType) else _object_rows
    made = make(rows, kept, added, _readers(rows, turned))
    if rows.key is None:
        return made
    hints = [typehints.Tuple[rows.key, hint] for hint in (made.hint, made.errors_hint)]
    return OutputRows(KeyedRows(made.form), hints[0], hints[1])


def _tuple_rows(
    rows: InputRows, kept: Sequence[str], added: Sequence[tuple[str, Type]], readers: Mapping[str, bytes]
) -> OutputRows:
    fields = tuple(rows.fields)
    schema = schema_pb2.Schema()
    for name in kept:
        schema.fields.add(name=name, type=rows.fields[name])
    schema.fields.extend(schema_of(added).fields)
    places = {name: at for at, name in enumerate(fields)}
    positions = (*(places[name] for name in kept), *range(len(fields), len(fields) + len(added)))
    names = tuple(field.name for field in schema.fields)
    return OutputRows(
        TupleRows(fields, positions, names, readers),
        RowType(schema),
        RowType(_errors_schema(rows.schema)),
    )


def _readers(rows: InputRows, turned: Set[str]) -> dict[str, bytes]:
    found = {name: reader_of(type_, by_name=name in turned) for name, type_ in rows.fields.items()}
    return {name: reader for name, reader in found.items() if reader is not None}


def _errors_schema(element: schema_pb2.Schema) -> schema_pb2.Schema:
    schema = schema_pb2.Schema()
    schema.fields.add(
        name=ERROR_FIELDS[0], type=schema_pb2.FieldType(row_type=schema_pb2.RowType(schema=element))
    )
    schema.fields.extend(schema_of((name, STRING) for name in ERROR_FIELDS[1:]).fields)
    return schema


def _object_rows(
    rows: InputRows, kept: Sequence[str], added: Sequence[tuple[str, Type]], readers: Mapping[str, bytes]
) -> OutputRows:
    hints = dict(_python_fields(rows.hint))
    fields = [(name, hints[name]) for name in kept] + [(name, python_type(type_)) for name, type_ in added]
    errors = [(ERROR_FIELDS[0], rows.hint)] + [(name, str) for name in ERROR_FIELDS[1:]]
    return OutputRows(
        ObjectRows(tuple(kept), tuple(name for name, _ in added), readers),
        row_type.RowTypeConstraint.from_fields(fields),
        row_type.RowTypeConstraint.from_fields(errors),
    )


def _python_fields(hint: Any) -> Sequence[tuple[str, Any]]:
    is_constraint = isinstance(hint, row_type.RowTypeConstraint)
    constraint: Any = hint if is_constraint else row_type.RowTypeConstraint.from_user_type(hint)
    return list(constraint._fields)


def python_type(type_: Type) -> Any:
    """Returns the Python type hint of a column: ``float``, ``int`` and so on, as people write them."""
    hint = _non_null_python_type(type_)
    return typing.Optional[hint] if type_.nullable else hint  # noqa: UP045 - the hint is only known here


def _non_null_python_type(type_: Type) -> Any:
    if isinstance(type_, Array):
        return Sequence[python_type(type_.element)]  # type: ignore[misc]
    if isinstance(type_, Map):
        return Mapping[python_type(type_.key), python_type(type_.value)]  # type: ignore[misc]
    if isinstance(type_, Row):
        return row_type.RowTypeConstraint.from_fields(
            [(name, python_type(field)) for name, field in type_.fields]
        )
    return _PYTHON_TYPES[str(type_.required())]


_PYTHON_TYPES: Final[dict[str, Any]] = {
    "string": str,
    "bytes": bytes,
    "boolean": bool,
    "int32": np.int32,
    "int64": int,
    "float": np.float32,
    "double": float,
    "timestamp": Timestamp,
}
"""Python types from which Beam infers the right schema."""
