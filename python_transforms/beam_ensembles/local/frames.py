"""Rows as people hold them in Python: DataFrames of pandas and polars, Arrow tables, and lists of mappings."""

from __future__ import annotations

import abc
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from beam_ensembles.columns.arrow_checks import check_batch
from beam_ensembles.columns.arrow_types import is_list
from beam_ensembles.columns.rows import ERROR_FIELDS
from beam_ensembles.errors import EnsembleError, InvalidEnsemble, InvalidRows
from beam_ensembles.messages.foreign_errors import text_of
from beam_ensembles.tables.arrow import type_of_arrow
from beam_ensembles.tables.chunk import Chunk
from beam_ensembles.tables.file_problems import refuse_duplicates
from beam_ensembles.tables.parquet_files import chunk_of
from beam_ensembles.tables.parquet_parts import parts_of
from beam_ensembles.types import INT32, INT64, Type

ALLOWED: Final = "a pandas or polars DataFrame, an Arrow table, or a list of mappings"
NOT_SCORED: Final = tuple(f"error_{name}" for name in ERROR_FIELDS[2:5])
"""The columns that say of a row why it was not scored: its node, a code and a message."""


class Frame(abc.ABC):
    """Some rows of one kind.

    Attributes:
        fields: The rows' fields in order, with their types where the rows say them.
    """

    fields: Mapping[str, Type | None]

    @abc.abstractmethod
    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yields the rows, at most ``size`` at once."""

    @abc.abstractmethod
    def extended(self, at: np.ndarray, added: Sequence[tuple[str, pa.Array]]) -> Any:
        """Returns some of the rows with columns added, as the kind of rows that these are."""


class Rows(Frame):
    """A list of mappings, whose fields are those of the first one."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows = rows
        names: Sequence[Any] = list(rows[0]) if rows else []
        strange = next((name for name in names if not isinstance(name, str)), None)
        if strange is not None:
            raise TypeError(f"the keys of rows are texts; found: {strange!r}")
        self.fields = dict.fromkeys(names)

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yields the rows, at most ``size`` at once."""
        for start in range(0, len(self._rows), size):
            yield _RowsChunk(self._rows[start : start + size], start)

    def extended(self, at: np.ndarray, added: Sequence[tuple[str, pa.Array]]) -> Any:
        """Returns new mappings."""
        columns = [(name, array.to_pylist(maps_as_pydicts="strict")) for name, array in added]
        return [
            {**self._rows[index], **{name: values[place] for name, values in columns}}
            for place, index in enumerate(at.tolist())
        ]


class _RowsChunk(Chunk):
    """Mappings; pandas's own missing values, as ``to_dict`` gives them, are nulls there, too."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], start: int) -> None:
        super().__init__(range(start + 1, start + len(rows) + 1))
        self._rows = rows

    def column(self, field: str) -> list[Any]:
        found = [row.get(field) for row in self._rows]
        if "pandas" not in sys.modules:
            return found
        return [None if _is_missing(value) else value for value in found]

    def rows(self, at: Sequence[int]) -> list[dict[str, Any]]:
        return [dict(self._rows[index]) for index in at]

    def cells(self, fields: Sequence[str], at: Sequence[int]) -> list[Sequence[Any]]:
        raise NotImplementedError

    def arrays(self, schema: pa.Schema, at: Sequence[int]) -> list[pa.Array]:
        raise NotImplementedError


def _refuse_duplicates(names: Sequence[str], what: str) -> None:
    """Refuses rows with two columns of one name.

    Raises:
        InvalidRows: There are such columns.
    """
    try:
        refuse_duplicates(names, what)
    except InvalidEnsemble as error:
        raise InvalidRows(error.problems) from error


class Table(Frame):
    """An Arrow table.

    Args:
        table: The table; it may be of a file, whose offsets and lengths nobody has checked.

    Raises:
        pa.ArrowInvalid: An offset, a length or an index of it is wrong.
    """

    def __init__(self, table: pa.Table) -> None:
        for batch in table.to_batches():
            check_batch(batch)
        _refuse_duplicates(table.schema.names, "the table")
        self._table = table
        self.fields = {field.name: type_of_arrow(field.type) for field in table.schema}

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yields the rows, at most ``size`` at once."""
        done = 0
        for batch in self._table.to_batches(max_chunksize=size):
            for part in parts_of(batch, batch.schema, size):
                yield chunk_of(part, done + 1)
                done += len(part)

    def extended(self, at: np.ndarray, added: Sequence[tuple[str, pa.Array]]) -> Any:
        """Returns an Arrow table."""
        table = _taken(self._table, at)
        for name, array in added:
            table = table.append_column(name, array)
        return table


def _taken(table: pa.Table, at: np.ndarray) -> pa.Table:
    """Returns some of the rows of a table of any types, by their places in order."""
    if len(at) == len(table):
        return table
    try:
        return table.take(pa.array(at))
    except pa.ArrowNotImplementedError:  # of views and of what is run-end encoded (pyarrow 25)
        return pa.concat_tables([table.slice(run.start, len(run)) for run in _runs(at)])


def _runs(at: np.ndarray) -> list[range]:
    """Returns places in order as ranges without gaps, at least one."""
    breaks = np.flatnonzero(np.diff(at) != 1) + 1
    found = [range(int(run[0]), int(run[-1]) + 1) for run in np.split(at, breaks) if len(run)]
    return found or [range(0)]


class Pandas(Table):
    """A DataFrame of pandas. A NaN in a column of numbers stays one; None, ``pd.NA`` and ``NaT`` are nulls."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        names = [str(name) for name in frame.columns]
        _refuse_duplicates(names, "the DataFrame")
        arrays = [_read_series(frame.iloc[:, at], name) for at, name in enumerate(names)]
        super().__init__(pa.table(arrays, names=names))

    def extended(self, at: np.ndarray, added: Sequence[tuple[str, pa.Array]]) -> Any:
        """Returns a DataFrame with the rows' own index and dtypes."""
        import pandas

        try:
            frame = self._frame.iloc[at]
        except pa.ArrowNotImplementedError:  # as of a table
            frame = pandas.concat([self._frame.iloc[run.start : run.stop] for run in _runs(at)])
        new = {
            name: array.to_pandas(types_mapper=_nullable(pandas) if array.null_count else None).array
            for name, array in added
        }
        return pandas.concat([frame, pandas.DataFrame(new, index=frame.index)], axis=1)


def _read_series(series: Any, name: str) -> pa.Array:
    """Returns a column of a DataFrame as an array.

    Raises:
        EnsembleError: Its values have no common type, or cannot be read.
    """
    try:
        return _array_of_series(series)
    except (pa.ArrowException, UnicodeError, OverflowError, TypeError) as error:
        text = f"column '{name}' of the DataFrame cannot be read: {text_of(error)}"
        raise EnsembleError(text) from error


def _array_of_series(series: Any) -> pa.Array:
    import pandas

    if isinstance(series.dtype, pandas.SparseDtype):
        series = series.sparse.to_dense()
    if isinstance(series.dtype, np.dtype) and series.dtype.kind == "f":
        return pa.array(series.to_numpy(), from_pandas=False)
    lists = _lists_of_numbers(series) if series.dtype == object else None
    found = pa.Array.from_pandas(series) if lists is None else lists
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _lists_of_numbers(series: Any) -> pa.Array | None:
    """Returns cells that are lists or arrays of numbers, of which a NaN stays one; None where they are others."""
    cells = [None if _is_null(cell) else cell for cell in series]
    if not {type(None), list, tuple, np.ndarray}.issuperset(map(type, cells)):
        return None
    try:
        found = pa.array([_nested_list(cell) for cell in cells], from_pandas=False)
    except pa.ArrowException:
        return None
    element = found.type
    while is_list(element):
        element = element.value_type
    return found if pa.types.is_floating(element) or pa.types.is_integer(element) else None


def _nested_list(cell: Any) -> Any:
    """Returns a cell as pyarrow takes it, which knows arrays of one dimension only."""
    return cell.tolist() if isinstance(cell, np.ndarray) and cell.ndim != 1 else cell


def _is_null(cell: Any) -> bool:
    """Whether a cell is null to pandas; no list is."""
    return cell is None or _is_missing(cell) or (isinstance(cell, float) and cell != cell)


def _is_missing(value: Any) -> bool:
    """Whether a value is one of pandas's own for what is missing."""
    import pandas

    return value is pandas.NA or value is pandas.NaT


def _nullable(pandas: Any) -> Any:
    """Returns pandas's dtypes that hold nulls, without which whole numbers would become floats."""
    return {
        pa.int32(): pandas.Int32Dtype(),
        pa.int64(): pandas.Int64Dtype(),
        pa.bool_(): pandas.BooleanDtype(),
    }.get


class Polars(Table):
    """A DataFrame of polars."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        super().__init__(frame.to_arrow())

    def extended(self, at: np.ndarray, added: Sequence[tuple[str, pa.Array]]) -> Any:
        """Returns a DataFrame."""
        import polars

        return self._frame[at].with_columns([polars.Series(name, array) for name, array in added])


def frame_of(rows: Any) -> Frame:
    """Returns rows as a frame.

    Raises:
        TypeError: They are of no kind that is known.
        InvalidRows: Two columns have one name.
        pa.ArrowException: A column of a DataFrame has values of several types.
    """
    if isinstance(rows, pa.RecordBatch):
        rows = pa.Table.from_batches([rows])
    if isinstance(rows, pa.Table):
        return Table(rows)
    for module, kind in (("pandas", Pandas), ("polars", Polars)):
        library = sys.modules.get(module)
        if library is not None and isinstance(rows, library.DataFrame):
            return kind(rows)
    is_list = isinstance(rows, Sequence) and not isinstance(rows, str | bytes)
    if is_list and all(isinstance(row, Mapping) for row in rows):
        return Rows(rows)
    raise TypeError(f"rows are {ALLOWED}; found: {type(rows).__name__}")


def one_row(row: Any, types: Mapping[str, Type]) -> Frame:
    """Returns one row as a frame.

    Args:
        row: A mapping, a Series of pandas such as ``frame.iloc[0]``, or rows of which there is one.
        types: The types of the fields that are read. A Series of numbers holds whole ones as floats.

    Raises:
        TypeError: It is none of these.
        ValueError: There is not exactly one row.
    """
    if isinstance(row, Mapping):
        return frame_of([row])
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(row, pandas.Series):
        return frame_of([{str(name): _cell(value, types.get(str(name))) for name, value in row.items()}])
    try:
        count = len(row)
    except TypeError:
        raise TypeError(
            f"a row is a mapping, a pandas Series, or {ALLOWED}; found: {type(row).__name__}"
        ) from None
    found = frame_of(row)
    if count != 1:
        raise ValueError(f"explain takes one row; found {count:,}; choose one, as in frame.iloc[0]")
    return found


def _cell(value: Any, type_: Type | None) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if _is_missing(value):
        return None
    if type_ is None or type_.required() not in (INT32, INT64):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else value
