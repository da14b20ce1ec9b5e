"""JSON lines: one object a line, UTF-8. Lines with nothing on them are no rows."""

from __future__ import annotations

import codecs
import collections
import itertools
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any, Final

import pyarrow as pa

from beam_ensembles.errors import InvalidEnsemble, NodeError, Problem, listed
from beam_ensembles.limits import CELLS_PER_BYTE, MOST_SPARSE_CELLS
from beam_ensembles.spec.mistakes import described
from beam_ensembles.tables.arrow import array_of
from beam_ensembles.tables.cells import cells_of_values
from beam_ensembles.tables.chunk import Chunk, ChunkRows, Fault
from beam_ensembles.tables.column_types import Survey
from beam_ensembles.tables.file_problems import FILE, refuse_utf16
from beam_ensembles.tables.json_text import Parser, to_json, values_from_json
from beam_ensembles.types import Type

_ROWS_AT_ONCE = 1_024


class JsonChunk(Chunk):
    """Rows of a file of JSON lines; a field that a row lacks is null.

    Args:
        objects: The rows.
        texts: The rows as they stand in the file.
        inputs: Type of each field that the ensemble reads.
        numbers: Which row of the data each is.
        faults: The rows that could not be read.
    """

    def __init__(
        self,
        objects: Sequence[dict[str, Any]],
        texts: Sequence[str],
        inputs: Mapping[str, Type],
        numbers: Sequence[int],
        faults: Sequence[Fault],
    ) -> None:
        super().__init__(numbers, faults)
        self.objects, self.texts, self._inputs = objects, texts, inputs

    def column(self, field: str) -> list[Any]:
        """Returns a field of all rows; bytes and points in time are text in JSON and are read."""
        values = [row.get(field) for row in self.objects]
        return values_from_json(values, self._inputs[field]) if field in self._inputs else values

    def rows(self, at: Sequence[int]) -> list[dict[str, Any]]:
        """Returns the objects as they came, with all digits of their numbers."""
        return [_exactly(self.texts[index]) for index in at]

    def cells(self, fields: Sequence[str], at: Sequence[int]) -> list[Sequence[Any]]:
        """Returns the fields' values as cells."""
        rows = [self.objects[index] for index in at]
        return [cells_of_values([row.get(name) for row in rows]) for name in fields]

    def arrays(self, schema: pa.Schema, at: Sequence[int]) -> list[pa.Array]:
        """Returns the fields' values as arrays."""
        found = []
        for field in schema:
            values = self.column(field.name)
            found.append(array_of([values[index] for index in at], field, self._inputs.get(field.name)))
        return found


class JsonReader:
    """Reads a file of JSON lines; a line that is no object is a fault of its own.

    Which fields there are, is known of the first thousand rows; where the whole file's are needed, because the output
    has a header or a schema, it is read twice.

    Args:
        path: The file.
        inputs: Type of each field that the ensemble reads.
        added: Names of the added columns; a row that has one of them already is a fault.
        whole: Whether the output is another format: the fields are found in all rows, and numbers are read with all
            of their digits.
        typed: Whether the output has types: then they are found in all rows, too.

    Raises:
        InvalidEnsemble: The file is UTF-16, or its rows have too many fields, or too few values, for the output.
        OSError: The file cannot be read.
    """

    def __init__(
        self,
        path: str,
        inputs: Mapping[str, Type],
        added: Sequence[str],
        *,
        whole: bool,
        typed: bool = False,
    ) -> None:
        self._path, self._inputs, self._added = path, inputs, frozenset(added)
        self._parsed = _exactly if whole else _nearly
        self.total, self.done = os.path.getsize(path), 0
        with open(path, "rb") as file:
            refuse_utf16(file.read(2))
        self._survey = Survey(inputs, typed=typed)
        names: Iterable[str] = ()
        rows = 0
        for chunk in self._read(_ROWS_AT_ONCE, frozenset()):
            if not whole:
                names = (name for row in chunk.objects for name in row)
                break
            self._survey.add(chunk.objects)
            rows += len(chunk)
        _refuse_sparse(rows, len(self._survey.fields), self.total)
        if whole and not self._survey.fields:  # no row at all
            self._survey.add([dict.fromkeys(inputs)])
        fields = dict.fromkeys(self._survey.fields if whole else names) or dict.fromkeys(inputs)
        self.fields: Mapping[str, Type | None] = fields

    @property
    def schema(self) -> pa.Schema:
        """The fields with the types that all their values have in common."""
        return self._survey.schema()

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Reads the rows."""
        return self._read(size, self._added)

    def _read(self, size: int, added: frozenset[str]) -> Iterator[JsonChunk]:
        with open(self._path, "rb") as file:
            lines = enumerate(filter(bytes.strip, _without_mark(file)), start=1)
            while batch := list(itertools.islice(lines, size)):
                self.done = file.tell()
                yield self._chunk(batch, added)

    def _chunk(self, lines: Sequence[tuple[int, bytes]], added: frozenset[str]) -> JsonChunk:
        objects: list[dict[str, Any]] = []
        texts: list[str] = []
        numbers: list[int] = []
        faults: list[Fault] = []
        for number, line in lines:
            try:
                text = _text(line)
                objects.append(_object(text, self._parsed, added))
                texts.append(text)
                numbers.append(number)
            except NodeError as error:
                raw = line.decode("utf-8", "backslashreplace").rstrip("\r\n")
                faults.append(Fault(number, raw, error))
        return JsonChunk(objects, texts, self._inputs, numbers, faults)


def _refuse_sparse(rows: int, fields: int, size: int) -> None:
    """Refuses rows that would become much larger as another format, in which each has a value of every field."""
    most = max(MOST_SPARSE_CELLS, CELLS_PER_BYTE * size)
    if rows * fields > most:
        text = (
            f"the file's {rows:,} rows have {fields:,} different fields together, and each row would get a value of "
            f"each: {rows * fields:,} values, where a file of {size:,} bytes may have {most:,}; write .jsonl, where a "
            "row keeps its own"
        )
        raise InvalidEnsemble([Problem(FILE, "bad_file", text)])


def _without_mark(file: IO[bytes]) -> Iterator[bytes]:
    for line in file:
        yield line.removeprefix(codecs.BOM_UTF8)
        break
    yield from file


def _text(line: bytes) -> str:
    try:
        return line.decode().strip()
    except UnicodeDecodeError:
        raise NodeError("bad_line", "the line is not UTF-8") from None


def _object(text: str, parsed: Parser, added: frozenset[str]) -> dict[str, Any]:
    try:
        found = parsed(text)
        if "\\ud" in text or "\\uD" in text:
            to_json(found).encode()
    except UnicodeEncodeError:
        raise NodeError(
            "bad_line", "the line holds half a surrogate pair, which is not a character"
        ) from None
    except RecursionError:
        raise NodeError("bad_line", "the line is not JSON that can be read: it is nested too deep") from None
    except ValueError as error:
        raise NodeError("bad_line", f"the line is not JSON: {_reason(error)}") from None
    if not isinstance(found, dict):
        raise NodeError("bad_line", f"expected a JSON object, found {described(found)}")
    if not added.isdisjoint(found):
        names = listed(sorted(added.intersection(found)))
        raise NodeError(
            "column_exists", f"the row has a field {names} already, which the ensemble would hide"
        )
    return found


def _with_each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        counts = collections.Counter(name for name, _ in pairs)
        twice = listed([name for name, count in counts.items() if count > 1])
        raise NodeError(
            "bad_line", f"an object of the line has {twice} more than once, and only one can count"
        )
    return found


def _reason(error: ValueError) -> str:
    is_of_json = isinstance(error, json.JSONDecodeError)
    return str(error) if is_of_json else "a number has more digits than any type of the language holds"


_exactly: Final = Parser(_with_each_key_once)
_nearly: Final = Parser(_with_each_key_once, exact=False)


class JsonWriter:
    """Writes one object a line.

    Args:
        file: Where to.
        form: How rows are put together.
    """

    def __init__(self, file: IO[bytes], form: ChunkRows) -> None:
        self._file, self._form = file, form

    def write(self, chunk: Chunk, at: Sequence[int], added: Sequence[list[Any]]) -> None:
        """Writes rows; those of JSON lines stay as they are, with the columns behind."""
        if isinstance(chunk, JsonChunk):
            answers = self._form.extend([{}] * len(at), added)
            own = [_on_one_line(chunk.texts[index]) for index in at]
            lines = [_joined(one, to_json(more)) for one, more in zip(own, answers, strict=True)]
        else:
            lines = list(map(to_json, self._form.extend(chunk.rows(at), added)))
        self._file.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Does nothing: every line is written at once."""


def _on_one_line(text: str) -> str:
    """Returns an object's JSON without a carriage return among its blanks, which some readers take for a line's end."""
    return to_json(_exactly(text)) if "\r" in text else text


def _joined(one: str, other: str) -> str:
    """Returns the JSON of an object with the fields of another one behind its own."""
    head, fields = one[:-1].rstrip(), other[1:]
    return f"{head}{', ' if len(head) > 1 and len(fields) > 1 else ''}{fields}"
