"""An ensemble's rows in Python: named tuples with schemas, and transforms that run the ensemble."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from beam_ensembles.code_generation.language import CannotGenerate, Language, Source, generated_head, wrapped
from beam_ensembles.code_generation.names import check_distinct, row_names, snake, upper_camel
from beam_ensembles.code_generation.rows import Column, EnsembleRows, nested_rows
from beam_ensembles.types import Array, Map, Row, Scalar, Type

_ON_LINES: Final = ",\n        "
_TRANSFORMS: Final = '''\
def _scored(row: Any) -> {name}Scored:
    return {scored}


def _failed(row: Any) -> {name}Failed:
    element = row.element
    return {name}Failed({element}, row.ensemble, row.node, row.code, row.msg, row.stack)


@beam.ptransform_fn
def Run{name}(rows: beam.PCollection[{name}Input], file: str, **options: Any) -> Any:
    """Score rows with the ensemble in a file: returns a PCollection of ``{name}Scored``.

    Args:
        rows: The rows.
        file: The ensemble file.
        options: Further arguments of ``RunEnsemble``.
    """
    scored = rows | beam_ensembles.RunEnsemble(file{columns}, **options)
    return scored | "{name}Scored" >> beam.Map(_scored).with_output_types({name}Scored)


@beam.ptransform_fn
def Run{name}WithErrors(rows: beam.PCollection[{name}Input], file: str, **options: Any) -> Any:
    """Score rows as ``Run{name}`` does: returns a pair, the second a PCollection of ``{name}Failed``."""
    scored, failed = rows | beam_ensembles.RunEnsemble(file{columns}, **options).with_errors()
    return (
        scored | "{name}Scored" >> beam.Map(_scored).with_output_types({name}Scored),
        failed | "{name}Failed" >> beam.Map(_failed).with_output_types({name}Failed),
    )
'''


class Python(Language):
    """Python, with ``RunEnsemble``."""

    title = "Python"
    command = "python"
    scalars: ClassVar[Mapping[str, str]] = {
        "string": "str",
        "bytes": "bytes",
        "boolean": "bool",
        "int32": "int",
        "int64": "int",
        "float": "float",
        "double": "float",
        "timestamp": "Timestamp",
    }
    keys = ("string", "bytes", "boolean", "int32", "int64", "float", "double")

    def check_package(self, package: str) -> str | None:
        """Returns that a module's package is the one whose folder it lies in."""
        return "a Python module belongs to the package whose folder it is in; leave --package out"

    def source(self, rows: EnsembleRows, package: str | None) -> Source:
        """Returns the code of an ensemble's rows."""
        self.check_types(rows.scored)
        name = upper_camel(rows.ensemble)
        types = row_names(rows.scored, name)
        check_distinct(
            [(f"the rows in '{'.'.join(path)}'", type_) for path, type_ in types.items()], self.title
        )
        fields = {column.name: _field(column.name) for column in rows.inputs}
        check_distinct(((f"column '{one}'", fields.get(one, one)) for one in _names(rows.scored)), self.title)
        wrong = [column.name for column in (*rows.fields, *rows.outputs) if not _is_field(column.name)]
        wrong += [
            field for _, row in nested_rows(rows.scored) for field, _ in row.fields if not _is_field(field)
        ]
        if wrong:
            raise CannotGenerate(
                f"rows of Python have no field '{wrong[0]}': their fields are Python's names, without '_' in front; "
                "rename it in the ensemble file"
            )
        module = f"{snake(rows.ensemble) or 'ensemble'}_rows.py"
        return Source(module, "\n".join(self._lines(rows, name, types, fields)))

    def _lines(
        self,
        rows: EnsembleRows,
        name: str,
        types: Mapping[tuple[str, ...], str],
        fields: Mapping[str, str],
    ) -> Iterator[str]:
        body = [
            line
            for path, row in nested_rows(rows.scored)
            for line in _tuple(
                types[path],
                f"A row in the column {path[0]}.",
                [Column(*field) for field in row.fields],
                types,
                path,
            )
        ]
        about = f"A row for the ensemble {rows.ensemble}."
        body += _tuple(f"{name}Input", about, rows.incoming, types, fields=fields, more=rows.description)
        about = f"A ``{name}Input`` with the answers of the ensemble."
        body += _tuple(f"{name}Scored", about, rows.scored, types, fields=fields)
        body += [
            f"class {name}Failed(NamedTuple):",
            f'    """A ``{name}Input`` that could not be scored, and why."""\n',
            f"    element: {name}Input",
            *(f"    {field}: str" for field in ("ensemble", "node", "code", "msg", "stack")),
            "\n",
        ]
        made = [*types.values(), *(f"{name}{end}" for end in ("Input", "Scored", "Failed"))]
        text = "\n".join(body)
        yield f"# {generated_head(rows, self)}"
        yield f'"""Rows of the ensemble {rows.ensemble}, and transforms that run it."""\n'
        if "Mapping[" in text or "Sequence[" in text:
            used = [one for one in ("Mapping", "Sequence") if f"{one}[" in text]
            yield f"from collections.abc import {', '.join(used)}"
        optional = ", Optional" if "Optional[" in text else ""
        yield f"from typing import Any, NamedTuple{optional}\n"
        yield "import apache_beam as beam"
        yield "import beam_ensembles"
        yield from ["from apache_beam.utils.timestamp import Timestamp"] if "Timestamp" in text else []
        yield "\n"
        yield text
        yield "for _rows in ("
        yield from (f"    {one}," for one in made)
        yield "):"
        yield "    beam.coders.registry.register_coder(_rows, beam.coders.RowCoder)\n\n"
        renamed = {column: field for column, field in fields.items() if column != field}
        yield _TRANSFORMS.format(
            name=name,
            columns=f", columns={renamed!r}" if renamed else "",
            scored=_made(f"{name}Scored", "row", rows.scored, types, (), fields, _ON_LINES),
            element=_made(f"{name}Input", "element", rows.incoming, types, (), fields, _ON_LINES),
        )


def _names(columns: Sequence[Column]) -> list[str]:
    return [column.name for column in columns]


def _is_field(name: str) -> bool:
    plain = unicodedata.normalize("NFKC", name)  # as Python reads it in source code
    return name == plain and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")


def _field(name: str) -> str:
    """Returns the name of an input column's field, where rows of Python cannot have its own name."""
    if _is_field(name):
        return name
    plain = unicodedata.normalize("NFKC", name)
    found = "".join(one if f"x{one}".isidentifier() else "_" for one in plain).lstrip("_")
    return f"{found}_" if keyword.iskeyword(found) else found if found.isidentifier() else f"x{found}"


def _tuple(
    name: str,
    about: str,
    columns: Sequence[Column],
    types: Mapping[tuple[str, ...], str],
    path: tuple[str, ...] = (),
    fields: Mapping[str, str] | None = None,
    more: str = "",
) -> Iterator[str]:
    yield f"class {name}(NamedTuple):"
    if more:
        lines = "\n".join(f"    {_in_docstring(line)}".rstrip() for line in wrapped(more))
        yield f'    """{about}\n\n{lines}\n    """\n'
    else:
        yield f'    """{about}"""\n'
    for column in columns:
        yield f"    # {column.documentation}"
        field = (fields or {}).get(column.name, column.name)
        yield f"    {field}: {_type(column.type, types, (*path, column.name))}"
    yield "\n"


def _in_docstring(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _type(type_: Type, types: Mapping[tuple[str, ...], str], path: tuple[str, ...]) -> str:
    if isinstance(type_, Array):
        found = f"Sequence[{_type(type_.element, types, path)}]"
    elif isinstance(type_, Map):
        found = f"Mapping[{_type(type_.key, types, path)}, {_type(type_.value, types, path)}]"
    elif isinstance(type_, Row):
        found = types[path]
    elif isinstance(type_, Scalar):
        found = Python.scalars[type_.name]
    else:
        raise TypeError(f"unknown type {type_}")
    # Beam 2.77 knows Optional, and takes "X | None" for any type.
    return f"Optional[{found}]" if type_.nullable else found


def _made(
    name: str,
    value: str,
    columns: Sequence[Column],
    types: Mapping[tuple[str, ...], str],
    path: tuple[str, ...],
    fields: Mapping[str, str] | None = None,
    between: str = ", ",
) -> str:
    """Returns the expression that makes a named tuple of a row."""
    parts = [
        f"{field}={_converted(f'{value}.{field}', column.type, types, (*path, column.name))}"
        for column in columns
        for field in [(fields or {}).get(column.name, column.name)]
    ]
    return f"{name}({between.join(parts)})"


def _converted(value: str, type_: Type, types: Mapping[tuple[str, ...], str], path: tuple[str, ...]) -> str:
    """Returns the expression that makes named tuples of the rows in a value; the value itself where it has none."""
    if not any(True for _ in nested_rows([Column("", type_)])):
        return value
    if isinstance(type_, Array):
        item = _converted("one", type_.element, types, path)
        found = f"[{item} for one in {value}]"
    elif isinstance(type_, Map):
        item = _converted("one", type_.value, types, path)
        found = f"{{key: {item} for key, one in {value}.items()}}"
    elif isinstance(type_, Row):
        found = _made(types[path], value, [Column(*field) for field in type_.fields], types, path)
    else:
        raise TypeError(f"unknown type {type_}")
    return f"None if {value} is None else {found}" if type_.nullable else found
