"""What the benchmarks score: an ensemble, its rows, and the same models without this project.

Also for environments that have neither Beam nor this project: Spark's and Ray's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow as pa

from scripts.layout import BUILD

Array = np.ndarray[Any, np.dtype[Any]]
Columns = Mapping[str, Array]
Score = Callable[[Columns], dict[str, Array]]

BATCH: Final = 1_024
"""Rows per batch, however the models are called."""
FEW: Final = 512
"""Different rows of texts and pictures, which take a model so long that runs cannot have many."""
MANY: Final = 8_192
"""Different rows of four numbers: enough to fill the 64 KiB per column in which LZ4 looks for repetitions."""
ARROW_BATCH: Final = 16_384
"""Rows of the record batches in which Go's and Java's clients send rows."""
BENCH: Final = BUILD / "bench"
"""Folder of what the benchmarks make."""
NAMES: Final = ("light", "digits", "text", "image")


class Workload:
    """An ensemble and its rows, for all ways to score them.

    Attributes:
        name: Its name, and that of its folder.
        fields: Names and Python types of the fields of a row, without ``id``.
        outputs: Type of each output: ``double``, ``string`` or ``array<double>``.
        answer: The output by which the ways to score are compared, and which number of it; None if it is one number.
        rows_at_once: Rows that go through a model at once.
        different: How many different rows there are, ``n``: row ``i`` has the values of row ``i % n``. Each run has a
            multiple of it, so that answers are the same.
        one_node_member: The member that is also measured alone, by ``one_node.yaml``.
    """

    name: ClassVar[str]
    fields: ClassVar[Mapping[str, Any]]
    outputs: ClassVar[Mapping[str, str]] = {}
    answer: ClassVar[tuple[str, int | None]]
    rows_at_once: ClassVar[int] = BATCH
    different: ClassVar[int] = BATCH
    one_node_member: ClassVar[str | None] = None

    @property
    def folder(self) -> Path:
        return Path(__file__).resolve().parent / self.name

    @property
    def ensemble(self) -> Path:
        return self.folder / f"{self.name}.yaml"

    @property
    def one_node(self) -> Path:
        return self.folder / "one_node.yaml"

    @property
    def models(self) -> Path:
        return self.folder / "models"

    def prepare(self) -> Array:
        """Creates the models if needed.

        Returns:
            The values of the different rows: ``[rows, width]`` of double, or ``[rows]`` of text or bytes.
        """
        raise NotImplementedError

    def load(self) -> Score:
        """Loads the models, and returns the function from the fields of a batch to its outputs, ``[N, ...]``."""
        raise NotImplementedError

    def features(self, row: Any) -> Any:
        """Returns the features of a row, as Beam's handlers take them."""
        raise NotImplementedError

    def handlers(self) -> Mapping[str, Any]:
        """Returns Beam's handler of each member, by name."""
        raise NotImplementedError

    def joined(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """Combines the members' predictions for one row to the outputs of the ensemble, by hand."""
        raise NotImplementedError

    def answer_of(self, row: Any) -> float:
        """Returns the number of a scored row by which the ways are compared."""
        name, index = self.answer
        value = getattr(row, name)
        return float(value if index is None else value[index])

    def answers(self, scored: Columns) -> Array:
        """Returns the same number of each row of a batch, ``[N]``."""
        name, index = self.answer
        return scored[name] if index is None else scored[name][:, index]

    def sum_of_answers(self, scored: pa.RecordBatch | pa.Table) -> float:
        """Adds up the answers of a batch in Arrow's memory."""
        return float(self.answers(columns_of(pa.table({self.answer[0]: scored[self.answer[0]]}))).sum())

    @property
    def table_file(self) -> Path:
        """The values as columns: Arrow's file format, one record batch."""
        return BENCH / f"{self.name}.arrow"

    @property
    def parquet_file(self) -> Path:
        """The same values many times over; written by who reads it."""
        return BENCH / f"{self.name}.parquet"

    @property
    def file_for_clients(self) -> Path:
        """What the programs in Go and Java read: doubles, little-endian, row by row; the table of other types."""
        numbers = not {str, bytes} & set(self.fields.values())
        return BENCH / f"{self.name}.f64" if numbers else self.table_file

    def write_values(self) -> None:
        """Prepares the workload and writes its values."""
        BENCH.mkdir(parents=True, exist_ok=True)
        values, names = self.prepare(), list(self.fields)
        if self.file_for_clients != self.table_file:
            values.astype("<f8").tofile(self.file_for_clients)
        if values.ndim == 1:
            columns = [pa.array(values)]
        elif len(names) > 1:
            columns = [pa.array(column) for column in values.T]
        else:
            columns = [pa.FixedSizeListArray.from_arrays(values.ravel(), values.shape[1])]
        batch = pa.record_batch(columns, names)
        with pa.ipc.new_file(str(self.table_file), batch.schema) as writer:
            writer.write_batch(batch)
        self.parquet_file.unlink(missing_ok=True)

    def table(self) -> pa.Table:
        """Reads the values."""
        with pa.memory_map(str(self.table_file)) as file:
            return pa.ipc.open_file(file).read_all()

    def columns(self) -> dict[str, Array]:
        """Reads the values as numpy's columns."""
        return columns_of(self.table())

    def rows(self) -> list[dict[str, Any]]:
        """Reads the values as the fields of rows."""
        names, columns = list(self.fields), list(self.columns().values())
        return [
            dict(zip(names, row, strict=True)) for row in zip(*map(np.ndarray.tolist, columns), strict=True)
        ]


def columns_of(table: pa.Table) -> dict[str, Array]:
    """Returns numpy's columns: ``[N]``, or ``[N, width]`` of lists of one length."""
    return {name: _array(table[name].combine_chunks()) for name in table.column_names}


def _array(column: pa.Array) -> Array:
    if pa.types.is_fixed_size_list(column.type) or pa.types.is_list(column.type):
        flat: Array = column.flatten().to_numpy()
        return flat.reshape(len(column), -1)
    found: Array = column.to_numpy(zero_copy_only=False)
    return found


def batches(columns: Columns, rows: int) -> Iterator[Columns]:
    """Splits rows into batches."""
    for at in range(0, len(next(iter(columns.values()))), rows):
        yield {name: values[at : at + rows] for name, values in columns.items()}


def load(name: str) -> Workload:
    """Returns the workload of a name."""
    workload: Workload = importlib.import_module(f"tests.benchmarks.{name}.workload").WORKLOAD
    return workload
