"""An ensemble's rows in Java: classes with Beam schemas, and methods that run the ensemble."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final

from beam_ensembles.code_generation.language import CannotGenerate, Language, Source, generated_head, wrapped
from beam_ensembles.code_generation.names import (
    check_distinct,
    escaped,
    lower_camel,
    package_name,
    row_names,
    upper_camel,
)
from beam_ensembles.code_generation.rows import Column, EnsembleRows, nested_rows
from beam_ensembles.types import STRING, Array, Map, Row, Scalar, Type

_WORDS: Final = (
    "abstract assert boolean break byte case catch char class const continue default do double else enum "
    "extends false final finally float for goto if implements import instanceof int interface long native "
    "new null package private protected public return short static strictfp super switch synchronized "
    "this throw throws transient true try void volatile while"
)
_RESERVED: Final = frozenset(_WORDS.split())
_BOXED: Final = {
    "boolean": "Boolean", "int": "Integer", "long": "Long", "float": "Float", "double": "Double",
}  # fmt: skip
_IMPORTS: Final = (
    "io.github.beamensembles.RunEnsemble",
    "java.util.Arrays",
    "java.util.List",
    "java.util.Map",
    "javax.annotation.Nullable",  # which Beam's core brings; checker-qual comes with some runners only
    "org.apache.beam.sdk.schemas.JavaFieldSchema",
    "org.apache.beam.sdk.schemas.annotations.DefaultSchema",
    "org.apache.beam.sdk.schemas.annotations.SchemaFieldName",
    "org.apache.beam.sdk.schemas.transforms.Convert",
    "org.apache.beam.sdk.transforms.WithFailures",
    "org.apache.beam.sdk.values.PCollection",
    "org.joda.time.Instant",
)
_FAILURE: Final = (
    Column("ensemble", STRING, "what failed"),
    Column("node", STRING, "the node that failed"),
    Column("code", STRING, "the stable name of the kind of failure"),
    Column("msg", STRING, "what went wrong, for people"),
    Column("stack", STRING, "the Python traceback, where there is one"),
)
_METHODS: Final = """\
/** Scores rows with {@code ensemble}, such as {@code RunEnsemble.fromFile("FILE")}. */
public static PCollection<Scored> run(PCollection<Input> rows, RunEnsemble ensemble) {
  return rows.apply(ensemble.as(Scored.class));
}

/** Scores rows, and returns those that could not be scored as {@code failures()}. */
public static WithFailures.Result<PCollection<Scored>, Failed> runWithErrors(
    PCollection<Input> rows, RunEnsemble ensemble) {
  var result = rows.apply(ensemble.withErrors().as(Scored.class));
  return WithFailures.Result.of(
      result.output(), result.failures().apply(Convert.to(Failed.class)));
}
"""

_OBJECT_METHODS: Final = """
  private Object[] fields() {
    return new Object[] {FIELDS};
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof TYPE && Arrays.deepEquals(fields(), ((TYPE) other).fields());
  }

  @Override
  public int hashCode() {
    return Arrays.deepHashCode(fields());
  }

  @Override
  public String toString() {
    return "TYPE" + Arrays.deepToString(fields());
  }"""
"""Without them tests could not compare rows."""


class Java(Language):
    """Java, with the client in ``java_examples/client``."""

    title = "Java"
    command = "java"
    scalars: ClassVar[Mapping[str, str]] = {
        "string": "String",
        "bytes": "byte[]",
        "boolean": "boolean",
        "int32": "int",
        "int64": "long",
        "float": "float",
        "double": "double",
        "timestamp": "Instant",
    }
    holds_nulls = False

    def check_package(self, package: str) -> str | None:
        """Returns what is wrong with the name of a package, if anything is."""
        parts = package.split(".")
        if all(re.fullmatch(r"[a-z_][a-z0-9_]*", one) and one not in {*_RESERVED, "_"} for one in parts):
            return None
        return f"'{package}' is not the name of a Java package, such as com.example.models"

    def source(self, rows: EnsembleRows, package: str | None) -> Source:
        """Returns the code of an ensemble's rows."""
        self.check_types(rows.scored)
        package = package or package_name(rows.ensemble)
        if self.check_package(package) is not None:
            raise CannotGenerate(
                f"the name '{rows.ensemble}' makes no Java package's name; give one with --package"
            )
        types = row_names(rows.scored, "")
        check_distinct(
            [(f"the rows in '{'.'.join(path)}'", type_) for path, type_ in types.items()], self.title
        )
        name = f"{upper_camel(rows.ensemble)}Rows"
        return Source("/".join((*package.split("."), f"{name}.java")), self._text(rows, name, types, package))

    def _text(self, rows: EnsembleRows, name: str, types: Mapping[tuple[str, ...], str], package: str) -> str:
        members = [
            f"private {name}() {{}}\n",
            "/** A row for the ensemble. */",
            *_class("Input", rows.incoming, types),
            "/** A row with the answers of the ensemble. */",
            *_class("Scored", rows.scored, types),
            "/** A row that could not be scored, and why. */",
            *_class(
                "Failed",
                [Column("element", Row(()), "the row as it came"), *_FAILURE],
                {("element",): "Input"},
            ),
        ]
        for path, row in nested_rows(rows.scored):
            members.append(f"/** A row in the column {path[0]}. */")
            members += _class(types[path], [Column(*field) for field in row.fields], types, path)
        members.append(_METHODS.replace("FILE", _javadoc(rows.file)))
        body = "\n".join(members)
        used = [one for one in _IMPORTS if re.search(rf"\b{one.rpartition('.')[2]}\b", body)]
        lines = [
            f"// {generated_head(rows, self)}".replace("\\", "/"),  # javac reads \\u in comments too
            f"package {package};\n",
            *(f"import {one};" for one in used),
            "\n/**",
            f" * Rows of the ensemble {rows.ensemble}.",
        ]
        if rows.description:
            lines += [" *", " * <p>" + "\n * ".join(map(_javadoc, wrapped(rows.description)))]
        lines += [" */", f"public final class {name} {{", textwrap.indent(body.rstrip(), "  "), "}", ""]
        return "\n".join(lines)


def _class(
    name: str, columns: Sequence[Column], types: Mapping[tuple[str, ...], str], path: tuple[str, ...] = ()
) -> Iterator[str]:
    fields = [escaped(lower_camel(column.name), _RESERVED) for column in columns]
    check_distinct(
        ((f"column '{column.name}'", field) for column, field in zip(columns, fields, strict=True)),
        Java.title,
    )
    yield "@DefaultSchema(JavaFieldSchema.class)"
    yield f"public static class {name} {{"
    for at, (column, field) in enumerate(zip(columns, fields, strict=True)):
        yield from [""] if at else []
        yield f"  /** {_javadoc(_documentation(column))} */"
        if field != column.name:
            yield f'  @SchemaFieldName("{column.name}")'
        yield f"  public {_field_type(column.type, types, (*path, column.name))} {field};"
    yield _OBJECT_METHODS.replace("TYPE", name).replace("FIELDS", ", ".join(fields))
    yield "}\n"


def _documentation(column: Column) -> str:
    return column.note if column.type == Row(()) else column.documentation


def _javadoc(text: str) -> str:
    r"""Returns a text for a comment: no end of it, no markup, no tag, and no ``\u`` that javac would read."""
    return html.escape(text, quote=False).replace("*/", "*&#47;").replace("\\", "&#92;").replace("@", "&#64;")


def _field_type(type_: Type, types: Mapping[tuple[str, ...], str], path: tuple[str, ...]) -> str:
    found = _type(type_, types, path)
    return f"@Nullable {_BOXED.get(found, found)}" if type_.nullable else found


def _type(type_: Type, types: Mapping[tuple[str, ...], str], path: tuple[str, ...]) -> str:
    if isinstance(type_, Array):
        return f"List<{_boxed(type_.element, types, path)}>"
    if isinstance(type_, Map):
        return f"Map<{_boxed(type_.key, types, path)}, {_boxed(type_.value, types, path)}>"
    if isinstance(type_, Row):
        return types[path]
    if isinstance(type_, Scalar):
        return Java.scalars[type_.name]
    raise TypeError(f"unknown type {type_}")


def _boxed(type_: Type, types: Mapping[tuple[str, ...], str], path: tuple[str, ...]) -> str:
    found = _type(type_, types, path)
    return _BOXED.get(found, found)
