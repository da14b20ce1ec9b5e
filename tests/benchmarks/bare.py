"""The models of a workload without Beam and without this project; also for environments that have neither."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, np.dtype[Any]]
Columns = Mapping[str, Array]
Score = Callable[[Columns], dict[str, Array]]


class Bare(Protocol):
    """A module ``tests.benchmarks.<name>.bare``.

    Attributes:
        ROWS: Rows that go through a model at once.
        OUTPUTS: Type of each output: ``double``, ``string`` or ``array<double>``.
        ANSWER: The output by which the ways to score are compared, and which number of it; None where it is one.
    """

    ROWS: int
    OUTPUTS: Mapping[str, str]
    ANSWER: tuple[str, int | None]

    def load(self, models: Path) -> Score:
        """Loads the models; gives what makes the outputs, ``[N, ...]``, of the fields of a batch of rows."""


def load_bare(name: str) -> Bare:
    """Gives the module of a workload."""
    return cast(Bare, importlib.import_module(f"tests.benchmarks.{name}.bare"))


def answers(bare: Bare, scored: Columns) -> Array:
    """Gives the answer of each row, ``[N]`` of float."""
    name, index = bare.ANSWER
    return scored[name] if index is None else scored[name][:, index]


def sum_of_answers(bare: Bare, scored: pa.RecordBatch | pa.Table) -> float:
    """Adds up the answers of rows in Arrow's memory."""
    table = pa.table({bare.ANSWER[0]: scored[bare.ANSWER[0]]})
    return float(answers(bare, columns_of(table)).sum())


def batches(columns: Columns, rows: int) -> Iterator[Columns]:
    """Parts rows to batches."""
    length = len(next(iter(columns.values())))
    for at in range(0, length, rows):
        yield {name: values[at : at + rows] for name, values in columns.items()}


def read_table(path: Path) -> pa.Table:
    """Reads a file of values."""
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


def columns_of(table: pa.Table) -> dict[str, Array]:
    """Gives numpy's columns: ``[N]``, or ``[N, width]`` of lists of one length."""
    return {name: _array(table[name].combine_chunks()) for name in table.column_names}


def _array(column: pa.Array) -> Array:
    if pa.types.is_fixed_size_list(column.type) or pa.types.is_list(column.type):
        flat: Array = column.flatten().to_numpy()
        return flat.reshape(len(column), -1)
    found: Array = column.to_numpy(zero_copy_only=False)
    return found
