"""An ensemble's rows in Go: structs, their registration, and functions that run the ensemble."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from beam_ensembles.code_generation.language import CannotGenerate, Language, Source, generated_head, wrapped
from beam_ensembles.code_generation.names import check_distinct, package_name, row_names, snake, upper_camel
from beam_ensembles.code_generation.rows import Column, EnsembleRows, nested_rows
from beam_ensembles.types import Array, Map, Row, Scalar, Type

_WORDS: Final = (
    "break case chan const continue default defer else fallthrough for func go goto if import interface "
    "map package range return select struct switch type var"
)
_KEYWORDS: Final = frozenset(_WORDS.split())
_INITIALISMS: Final = frozenset(("api", "html", "http", "id", "ip", "json", "sql", "uri", "url", "uuid"))
_MARKUP: Final = re.compile(r"[-+*•#\[]|\d+[.)]")
_HAS_TIMES: Final = re.compile(r"^\t\w+ \S*\btime\.Time `", re.MULTILINE)
_MODULE: Final = "github.com/beam-ensembles/beam-ensembles/go_examples/ensemble"
_FUNCTIONS: Final = """\
func init() {{
	beam.RegisterType(reflect.TypeFor[{0}Input]())
	beam.RegisterType(reflect.TypeFor[{0}Scored]())
	beam.RegisterType(reflect.TypeFor[{0}Failed]())
}}

// {0}Failed is a {0}Input that could not be scored, and why.
type {0}Failed = ensemble.Failed[{0}Input]

// Run{0} scores rows, a PCollection<{0}Input>, with the ensemble in file. It
// returns a PCollection<{0}Scored>, and fails as ensemble.TryRun does.
func Run{0}(
	s beam.Scope, rows beam.PCollection, file ensemble.Source, opts ...ensemble.Option,
) (beam.PCollection, error) {{
	return ensemble.TryRun[{0}Scored](s, rows, file, opts...)
}}

// Run{0}WithErrors is Run{0}, but returns the rows that could not be scored as
// a PCollection<{0}Failed>.
func Run{0}WithErrors(
	s beam.Scope, rows beam.PCollection, file ensemble.Source, opts ...ensemble.Option,
) (scored, failed beam.PCollection, err error) {{
	return ensemble.TryRunWithErrors[{0}Scored](s, rows, file, opts...)
}}
"""


class Go(Language):
    """Go, with the client in ``go_examples/ensemble``."""

    title = "Go"
    command = "go"
    scalars: ClassVar[Mapping[str, str]] = {
        "string": "string",
        "bytes": "[]byte",
        "boolean": "bool",
        "int32": "int32",
        "int64": "int64",
        "float": "float32",
        "double": "float64",
        "timestamp": "time.Time",
    }

    def check_package(self, package: str) -> str | None:
        """Returns what is wrong with the name of a package, if anything is."""
        if re.fullmatch(r"[a-z_][a-z0-9_]*", package) and package != "_" and package not in _KEYWORDS:
            return None
        return f"'{package}' is not the name of a Go package: lower-case letters, digits and '_'"

    def package_in(self, folder: str) -> str | None:
        """Returns the folder's name, if a package can have it: '.' has none that is the same on every machine."""
        name = os.path.basename(os.path.normpath(folder))
        return name if self.check_package(name) is None else None

    def source(self, rows: EnsembleRows, package: str | None) -> Source:
        """Returns the code of an ensemble's rows."""
        self.check_types(rows.scored)
        name = upper_camel(rows.ensemble, _INITIALISMS)
        types = row_names(rows.scored, name, _INITIALISMS)
        check_distinct(
            ((f"the rows in '{'.'.join(path)}'", type_) for path, type_ in types.items()), self.title
        )
        text = "\n".join(self._lines(rows, name, types, package or self._package(rows.ensemble)))
        if _HAS_TIMES.search(text):
            text = text.replace('import (\n\t"reflect"\n', 'import (\n\t"reflect"\n\t"time"\n', 1)
        return Source(f"{snake(rows.ensemble) or 'ensemble'}_rows.go", text)

    def _package(self, ensemble: str) -> str:
        found = package_name(ensemble)
        if self.check_package(found) is not None:
            raise CannotGenerate(f"the name '{ensemble}' makes no Go package's name; give one with --package")
        return found

    def _lines(
        self, rows: EnsembleRows, name: str, types: Mapping[tuple[str, ...], str], package: str
    ) -> Iterator[str]:
        yield f"// {generated_head(rows, self)}"
        yield f"\npackage {package}\n"
        yield 'import (\n\t"reflect"\n\n\t"github.com/apache/beam/sdks/v2/go/pkg/beam"\n'
        yield f'\t"{_MODULE}"\n)\n'
        yield f"// {name}Input is a row for the ensemble {rows.ensemble}."
        if rows.description:
            yield "//"
            yield from (f"// {_plain(line)}" for line in wrapped(rows.description))
        yield from struct(f"{name}Input", rows.incoming, types)
        yield f"// {name}Scored is a {name}Input with the answers of the ensemble {rows.ensemble}."
        yield from struct(f"{name}Scored", rows.scored, types)
        for path, row in nested_rows(rows.scored):
            yield f"// {types[path]} is a row in the column {path[0]}."
            yield from struct(types[path], [Column(*field) for field in row.fields], types, path)
        yield _FUNCTIONS.format(name)


def struct(
    name: str,
    columns: Sequence[Column],
    types: Mapping[tuple[str, ...], str],
    path: tuple[str, ...] = (),
    fields: Sequence[str] | None = None,
) -> Iterator[str]:
    """Yields the lines of a struct type, and an empty one.

    Args:
        name: Its name.
        columns: What its fields are called in rows, with their types.
        types: The names of the types of rows within rows, by their paths.
        path: Its own path, where it is one of them.
        fields: The names of its fields; None: names made of the columns'.

    Raises:
        CannotGenerate: Two columns would have one name.
    """
    if fields is None:
        fields = [upper_camel(column.name, _INITIALISMS) for column in columns]
    check_distinct(
        ((f"column '{column.name}'", field) for column, field in zip(columns, fields, strict=True)), Go.title
    )
    yield f"type {name} struct {{"
    for column, field in zip(columns, fields, strict=True):
        yield f"\t// {_plain(column.documentation)}"
        yield f"\t{field} {go_type(column.type, types, (*path, column.name))} `{_tag(column.name)}`"
    yield "}\n"


def _plain(line: str) -> str:
    """Returns a line of a comment that gofmt leaves alone: no list, link, heading, quotes or build constraint."""
    quoted = line.replace("``", "`").replace("''", "'")
    return f"| {quoted}" if _MARKUP.match(quoted) else quoted


def _tag(name: str) -> str:
    return f'beam:"{name}" json:"{name}"'


def go_type(type_: Type, types: Mapping[tuple[str, ...], str], path: tuple[str, ...]) -> str:
    """Names a type: a null is a nil pointer where the type has no nil of its own."""
    if isinstance(type_, Array):
        return f"[]{go_type(type_.element, types, path)}"
    if isinstance(type_, Map):
        return f"map[{go_type(type_.key, types, path)}]{go_type(type_.value, types, path)}"
    if isinstance(type_, Row):
        found = types[path]
    elif isinstance(type_, Scalar):
        found = Go.scalars[type_.name]
    else:
        raise TypeError(f"unknown type {type_}")
    return f"*{found}" if type_.nullable and not found.startswith("[]") else found
