"""What Arrow record batches of rows hold on both sides of an ensemble: fields, order, layouts."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from beam_ensembles.columns.arrow_types import (
    EVENT_TIME,
    MICROSECONDS,
    arrow_field,
    is_layout_of,
    with_plain_lists,
)
from beam_ensembles.columns.rows import ERROR_FIELDS
from beam_ensembles.columns.schemas import written_type
from beam_ensembles.errors import EnsembleError, listed
from beam_ensembles.types import STRING, Type

_INSTANT: Final = pa.timestamp("us", tz="UTC")


@dataclasses.dataclass(frozen=True)
class ArrowRows:
    """The rows of both sides.

    Attributes:
        fields: Names and types of the incoming rows' fields; None for a type that the language has no word for.
        added: Names and types of the added columns.
        positions: For each field of the output where it is: below ``len(fields)`` a field of the input, from there on
            an added column.
        announced: The schema of the record batches of a Python pipeline, which may have any of Arrow's types and no
            event times; None where they cross from another language.
        readers: How the values of some fields are read (``columns.logical_types.reader_of``).
        written: For each added column how its values cross (``columns.logical_types.writer_of``); may be empty.
    """

    fields: tuple[tuple[str, Type | None], ...]
    added: tuple[tuple[str, Type], ...]
    positions: tuple[int, ...]
    announced: pa.Schema | None = None
    readers: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    written: tuple[bytes | None, ...] = ()

    def schemas(self, incoming: pa.Schema) -> Schemas:
        """Settles the schemas of both outputs for one schema of incoming record batches.

        Raises:
            EnsembleError: They are of another layout; one sentence that names the first column that is.
        """
        if self.announced is not None:
            self._check_announced(incoming, self.announced)
            return self._schemas(incoming, incoming, _INSTANT)
        self._check(incoming)
        plain = pa.schema([field.with_type(with_plain_lists(field.type)) for field in incoming])
        return self._schemas(incoming, plain, MICROSECONDS)

    def _schemas(self, incoming: pa.Schema, plain: pa.Schema, instant: pa.DataType) -> Schemas:
        count = len(self.fields)
        kept, times = list(plain)[:count], list(plain)[count:]
        added = zip(self.added, self.crossing, strict=True)
        fields = [*kept, *(arrow_field(name, type_, instant) for (name, _), type_ in added)]
        element = pa.field(ERROR_FIELDS[0], pa.struct(kept), nullable=False)
        details = [arrow_field(name, STRING) for name in ERROR_FIELDS[1:]]
        return Schemas(
            incoming,
            None if plain.equals(incoming) else plain,
            pa.schema([*(fields[at] for at in self.positions), *times]),
            pa.schema([element, *details, *times]),
        )

    @functools.cached_property
    def crossing(self) -> tuple[Type, ...]:
        """The type of each added column as it crosses."""
        types = [type_ for _, type_ in self.added]
        for at, writer in enumerate(self.written):
            types[at] = types[at] if writer is None else written_type(writer)
        return tuple(types)

    def _check_announced(self, incoming: pa.Schema, announced: pa.Schema) -> None:
        if incoming.equals(announced):
            return
        known = {field.name: field for field in announced}
        wrong = [said for field in incoming if (said := _difference(field, known.get(field.name)))]
        text = "a record batch has another schema than with_arrow_schema was given: found "
        raise EnsembleError(text + (listed(wrong) if wrong else "fewer columns, or another order"))

    def _check(self, incoming: pa.Schema) -> None:
        wanted = [*(name for name, _ in self.fields), EVENT_TIME]
        if incoming.names != wanted:
            text = f"the incoming Arrow batches have the columns {listed(incoming.names, 30)}"
            raise EnsembleError(f"{text}, but the caller announced {listed(wanted, 30)}, in this order")
        for field, (name, type_) in zip(incoming, self.fields, strict=False):
            if type_ is not None and not is_layout_of(field.type, type_):
                text = f"the incoming Arrow batches have '{name}' as {field.type}, which is not a layout of {type_}"
                raise EnsembleError(text)
        if incoming.field(EVENT_TIME).type != pa.int64():
            found = incoming.field(EVENT_TIME).type
            raise EnsembleError(f"'{EVENT_TIME}' of the incoming Arrow batches is {found}, not int64")


def _difference(found: pa.Field, announced: pa.Field | None) -> str:
    if announced is None:
        return _shown(found)
    return "" if announced.equals(found) else f"{_shown(found)} where {_shown(announced)} was announced"


def _shown(field: pa.Field) -> str:
    return f"{field.name}: {field.type}{'' if field.nullable else ' not null'}"


@dataclasses.dataclass(frozen=True, slots=True)
class Schemas:
    """Schemas that go together.

    Attributes:
        incoming: That of the incoming record batches.
        plain: The same with plain lists only; None where it has no others.
        output: That of the main output.
        errors: That of the error output.
    """

    incoming: pa.Schema
    plain: pa.Schema | None
    output: pa.Schema
    errors: pa.Schema
