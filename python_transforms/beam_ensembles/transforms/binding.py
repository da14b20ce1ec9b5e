"""Binds a checked ensemble to the rows of one PCollection: which field feeds which input, what the outputs hold."""

from __future__ import annotations

import dataclasses
import keyword
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
from apache_beam.portability.api import schema_pb2
from apache_beam.typehints.schemas import PYTHON_ANY_URN

from beam_ensembles.beam_repairs.row_coder import RowType
from beam_ensembles.columns.arrow_rows import ArrowRows
from beam_ensembles.columns.logical_types import DECIMALS, writer_of
from beam_ensembles.columns.rows import TupleRows
from beam_ensembles.columns.schemas import type_of, wire_type_of
from beam_ensembles.errors import (
    InvalidEnsemble,
    InvalidOutputType,
    InvalidRows,
    Problem,
    few_suggestions,
    listed,
    nearest,
)
from beam_ensembles.graph.model import EnsembleGraph
from beam_ensembles.runtime.refresh import Watch
from beam_ensembles.spec.language import NAME_RULE, is_name
from beam_ensembles.transforms.output_schema import positions_in
from beam_ensembles.transforms.row_forms import InputRows, OutputRows, output_rows
from beam_ensembles.types import NUMPY_DTYPES, Array, Map, Row, Type, same_order, widens

OPAQUE: Final = "__opaque"
"""The bytes column in which a client carries its key and the fields whose types cannot cross."""

ONLY_WIDER: Final = "numbers may only become wider"
ROWS_WITHIN: Final = "rows in rows need the same fields"
NUMBERS: Final = frozenset(NUMPY_DTYPES) - {"boolean"}
"""The names of the types of numbers."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class CallOptions:
    """What one call of an ensemble says beside the ensemble itself.

    Attributes:
        columns: The file's input column to the row's field, where names differ.
        prefix: Put before the name of every added column.
        pass_through: The fields that the output keeps; None: all.
        opaque: Fields that the caller carries where no model can read them, with their types' names.
        output_schema: The schema that the caller decodes the output with, or None.
        errors_schema: The same for the error output.
        watch: The files to check for newer versions of the ensemble, if any.
    """

    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    prefix: str = ""
    pass_through: Sequence[str] | None = None
    opaque: Mapping[str, str] = dataclasses.field(default_factory=dict)
    output_schema: schema_pb2.Schema | None = None
    errors_schema: schema_pb2.Schema | None = None
    watch: Watch | None = None


@dataclasses.dataclass(frozen=True)
class Binding:
    """An ensemble bound to rows.

    Attributes:
        inputs: For each input column: its name, the row's field, its type.
        outputs: The form and the element types of what comes out.
        written: For each added column how its values cross (``columns.logical_types.writer_of``); empty where all of
            them cross as they are.
    """

    inputs: tuple[tuple[str, str, Type], ...]
    outputs: OutputRows
    written: tuple[bytes | None, ...] = ()


def bind(graph: EnsembleGraph, rows: InputRows, call: CallOptions) -> Binding:
    """Checks the rows against the ensemble's inputs and settles its outputs.

    Raises:
        InvalidRows: With everything in the rows that does not fit.
        InvalidOutputType: With every field that the caller's type cannot take from the output.
    """
    with few_suggestions():
        problems = [*_input_problems(graph, rows, call), *_name_problems(graph, rows, call)]
    if problems:
        raise InvalidRows(problems, ensemble=graph.spec.name)
    inputs = tuple((name, call.columns.get(name, name), type_) for name, type_ in graph.columns_read)
    kept = _kept(rows, call)
    added = [(call.prefix + name, type_) for name, type_ in graph.outputs]
    outputs = output_rows(rows, kept, added, frozenset(_turned(rows, inputs)))
    if call.output_schema is not None or call.errors_schema is not None:
        try:
            outputs = _ordered(outputs, call, frozenset(name for name, _ in added))
        except InvalidEnsemble as error:
            raise type(error)(error.problems, ensemble=graph.spec.name) from error
    return Binding(inputs, outputs, _written(call.output_schema, added))


def _turned(rows: InputRows, inputs: Sequence[tuple[str, str, Type]]) -> Iterator[str]:
    """Yields the fields that hold rows whose fields come in another order than the ensemble declares."""
    for _, field, declared in inputs:
        found = rows.type_of(field)
        if found is not None and not same_order(found, declared):
            yield field


def arrow_rows(
    rows: InputRows, graph: EnsembleGraph, binding: Binding, announced: pa.Schema | None = None
) -> ArrowRows:
    """Returns what the Arrow record batches of both sides hold.

    Args:
        rows: The rows in the incoming ones.
        graph: The ensemble.
        binding: The ensemble bound to these rows.
        announced: The schema of record batches in a Python pipeline.
    """
    form = binding.outputs.form
    if not isinstance(form, TupleRows):
        raise TypeError(f"rows that cross are tuples, not {type(form).__name__}")
    fields = tuple((name, _layout(rows, name)) for name in rows.fields)
    output = dict(zip(form.positions, form.output, strict=True))
    names = (output.get(len(fields) + at, "") for at in range(len(graph.outputs)))
    added = tuple((name, type_) for name, (_, type_) in zip(names, graph.outputs, strict=True))
    readers = {
        name: reader for name, reader in form.readers.items() if rows.type_of(name) != _layout(rows, name)
    }
    return ArrowRows(fields, added, form.positions, announced, readers, binding.written)


def _layout(rows: InputRows, field: str) -> Type | None:
    return wire_type_of(rows.fields[field]) if rows.types is None else rows.types[field]


def _written(wanted: schema_pb2.Schema | None, added: Sequence[tuple[str, Type]]) -> tuple[bytes | None, ...]:
    fields = {field.name: field.type for field in wanted.fields} if wanted is not None else {}
    written = tuple(_writer(fields[name], type_) if name in fields else None for name, type_ in added)
    return written if any(written) else ()


def _writer(wanted: schema_pb2.FieldType, type_: Type) -> bytes | None:
    found = type_of(wanted)
    return writer_of(wanted, by_name=found is not None and not same_order(found, type_))


def _input_problems(graph: EnsembleGraph, rows: InputRows, call: CallOptions) -> list[Problem]:
    declared = dict(graph.spec.inputs)
    problems = [
        Problem(
            f"columns.{name}",
            "unknown_column",
            f"the ensemble has no input '{name}'{nearest(name, declared)}",
        )
        for name in call.columns
        if name not in declared
    ]
    for name, type_ in declared.items():
        problem = _input_problem(name, type_, rows, call)
        if problem:
            problems.append(problem)
    return problems


def _input_problem(name: str, type_: Type, rows: InputRows, call: CallOptions) -> Problem | None:
    field = call.columns.get(name, name)
    where = f"input.{field}"
    if field in call.opaque:
        text = f"the ensemble reads '{field}', but its type {call.opaque[field]} cannot cross to the models"
        return Problem(
            where, "opaque_field", f"{text}; convert it before, or name another field with 'columns'"
        )
    if field not in rows.fields:
        fields = _field_names(rows, call)
        text = f"the ensemble reads '{field}', which the incoming rows lack{nearest(field, fields)}"
        return Problem(where, "missing_field", f"{text} (fields: {listed(fields, 30)})")
    if _is_any(rows.fields[field]) or _feeds(rows.type_of(field), type_, rows.is_python):
        return None
    if rows.fields[field].logical_type.urn in DECIMALS:
        text = f"the incoming rows have '{field}' as a decimal, and the ensemble declares {type_}; declare it as string"
        return Problem(
            where, "field_type", f"{text}, and write CAST({name} AS DOUBLE) in a node 'apply: sql'"
        )
    text = f"the incoming rows have '{field}' as {rows.describe(field)}, and the ensemble declares {type_}"
    return Problem(where, "field_type", f"{text}; {_rule(rows.type_of(field), type_)}")


def _rule(found: Type | None, declared: Type) -> str:
    """Returns what a field of another type than the declared one needs."""
    while isinstance(found, Array) and isinstance(declared, Array):
        found, declared = found.element, declared.element
    if isinstance(found, Row) and isinstance(declared, Row):
        return f"{ROWS_WITHIN}, and {ONLY_WIDER}"
    if found is not None and {str(found.required()), str(declared.required())} <= NUMBERS:
        return ONLY_WIDER
    return "convert the field before, or declare the input as the field is"


def _is_any(found: schema_pb2.FieldType) -> bool:
    """A field of a Python pipeline whose type Beam could not infer: its values are checked as they come."""
    return bool(found.WhichOneof("type_info") == "logical_type" and found.logical_type.urn == PYTHON_ANY_URN)


def _feeds(found: Type | None, wanted: Type, python: bool) -> bool:
    """Nulls are left to the rows: one that has a null where none is declared fails alone."""
    return found is not None and widens(_without_nulls(found), _without_nulls(wanted), python=python)


def _without_nulls(type_: Type) -> Type:
    if isinstance(type_, Array):
        return Array(_without_nulls(type_.element), type_.shape)
    if isinstance(type_, Map):
        return Map(_without_nulls(type_.key), _without_nulls(type_.value))
    if isinstance(type_, Row):
        return Row(tuple((name, _without_nulls(field)) for name, field in type_.fields))
    return type_.required()


def _field_names(rows: InputRows, call: CallOptions) -> list[str]:
    """Names the caller's own fields: those that cross as they are, and those in the opaque column."""
    return [*(name for name in rows.fields if name != OPAQUE), *call.opaque]


def _kept(rows: InputRows, call: CallOptions) -> list[str]:
    """Names the fields that the output keeps; what the caller carries in the opaque column always comes back."""
    if call.pass_through is None:
        return list(rows.fields)
    carried = [OPAQUE] if OPAQUE in rows.fields and OPAQUE not in call.pass_through else []
    return [*(name for name in call.pass_through if name not in call.opaque), *carried]


def _name_problems(graph: EnsembleGraph, rows: InputRows, call: CallOptions) -> list[Problem]:
    fields = _field_names(rows, call)
    kept = fields if call.pass_through is None else call.pass_through
    there, passed = frozenset(fields), frozenset(kept)
    problems = [
        Problem(
            "pass_through",
            "missing_field",
            f"the incoming rows have no field '{name}'{nearest(name, fields)}",
        )
        for name in kept
        if name not in there and name != OPAQUE
    ]
    for name, type_ in graph.outputs:
        if not is_name(call.prefix + name):
            text = f"'{call.prefix + name}' is not a valid name of a column: {NAME_RULE}"
            problems.append(Problem("prefix", "bad_name", text))
            break
        if rows.is_python:
            problems += _python_name_problems(name, call.prefix + name, type_)
        if call.prefix + name in passed:
            text = f"the incoming rows have a field '{call.prefix + name}' already, which the ensemble would hide"
            problems.append(
                Problem(f"outputs.{name}", "column_exists", f"{text}; rename it, or give a prefix")
            )
    return problems


def _python_name_problems(column: str, name: str, type_: Type) -> list[Problem]:
    """Reports names that a field of Python's rows, which are named tuples, cannot have."""
    wrong = next((one for one in (name, *_field_names_in(type_)) if not _is_python_field(one)), None)
    if wrong is None:
        return []
    text = (
        f"rows of Python have no field '{wrong}': their fields are Python's names, without '_' in front; rename it"
        f"{', give a prefix' if wrong == name and _is_python_field('p' + name) else ''}, or pass record batches "
        "(with_arrow_schema)"
    )
    return [Problem(f"outputs.{column}", "bad_name", text)]


def _is_python_field(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")


def _field_names_in(type_: Type) -> Iterator[str]:
    """Yields the names of the fields of all rows in a type."""
    if isinstance(type_, Row):
        for name, field in type_.fields:
            yield name
            yield from _field_names_in(field)
    elif isinstance(type_, Array):
        yield from _field_names_in(type_.element)
    elif isinstance(type_, Map):
        yield from _field_names_in(type_.value)


def _ordered(outputs: OutputRows, call: CallOptions, added: frozenset[str]) -> OutputRows:
    """Puts columns into the order of the caller's schemas, which then stand on the wire as they are."""
    form, hint, errors_hint = outputs.form, outputs.hint, outputs.errors_hint
    if not isinstance(hint, RowType) or not isinstance(form, TupleRows):
        text = "a Python pipeline's rows are read by name; output_schema is for other languages"
        raise InvalidEnsemble([Problem("output_schema", "wrong_config", text)])
    if call.output_schema is not None:
        wanted = call.output_schema
        found = positions_in(hint.schema, wanted, "output_schema", added)
        names = tuple(field.name for field in wanted.fields)
        form = dataclasses.replace(form, positions=tuple(form.positions[at] for at in found), output=names)
        hint = RowType(wanted)
    if call.errors_schema is not None:
        errors_hint = _ordered_errors(errors_hint, call.errors_schema)
    return OutputRows(form, hint, errors_hint)


def _ordered_errors(errors_hint: Any, wanted: schema_pb2.Schema) -> RowType:
    found = positions_in(errors_hint.schema, wanted, "errors_schema")
    if found != tuple(range(len(errors_hint.schema.fields))):
        names = listed([field.name for field in errors_hint.schema.fields])
        text = f"the caller's type for error rows must have the fields {names}, in this order"
        raise InvalidOutputType([Problem("errors_schema", "output_schema_mismatch", text)])
    return RowType(wanted)
