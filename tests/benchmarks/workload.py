"""What the benchmarks score: rows of one kind, an ensemble of them, and the same work without this project."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from scripts.layout import BUILD
from tests.benchmarks import bare
from tests.benchmarks.bare import Array

BATCH: Final = 1_024
"""Rows a batch, in whatever way the models are called."""

FEW: Final = 512
"""Different rows of texts and pictures, which take a model so long that runs cannot have many."""

MANY: Final = 8_192
"""Different rows of four numbers: as many as fill the 64 KiB, a column, within which LZ4 looks for what comes again."""

ARROW_BATCH: Final = 16_384
"""Rows of the record batches in which Go's and Java's clients send rows."""

BUNDLE_ROWS: Final = {"light": 65_536, "digits": 65_536, "text": 65_536, "image": 8_192}
"""Rows after which a source in Go or Java ends its bundle on Prism, as readers of files and queues do: Prism sends a
bundle in one message, and a step begins with what the step before has ended. Those of pictures have 57 MB."""

STAGE_PROCESSES: Final = 2
"""Processes in which an ensemble's workers run it on Prism and in Python: as many as Spark and Ray have here."""

SERVICE_FLAGS: Final = (f"--stage-processes={STAGE_PROCESSES}",)
"""What a service is told for that."""

BENCH: Final = BUILD / "bench"
"""Folder of what the benchmarks make."""

NAMES: Final = ("light", "digits", "text", "image")


class Rows(Protocol):
    """Rows to score.

    Attributes:
        name: Name of the file of their values.
        fields: Names and Python types of a row's fields, but for ``id``.
    """

    name: str
    fields: Sequence[tuple[str, Any]]

    def prepare(self) -> Array:
        """Trains the models where that has not been done.

        Returns:
            The values: ``[rows, width]`` of double, or ``[rows]`` of the objects of the only field.
        """

    def as_fields(self, values: Any) -> dict[str, Any]:
        """Gives a row's fields by name, without its id, of its numbers or of its only value."""

    def answer(self, row: Any) -> float:
        """Gives one number of a scored row, by which the ways are compared."""


class Workload(Rows, Protocol):
    """One ensemble and its rows, for all ways to score them.

    Attributes:
        ensemble: Its file.
        models: The folder of its models.
    """

    ensemble: Path
    models: Path

    def keyed(self, row: Any) -> tuple[int, Any]:
        """Gives a row's id and features."""

    def handlers(self) -> Mapping[str, Any]:
        """Gives Beam's handler of each member, by name."""

    def joined(self, grouped: tuple[int, Mapping[str, Sequence[Any]]]) -> Any:
        """Combines the members' predictions for one id to the row that the ensemble gives, by hand."""


class WithOneNode(Workload, Protocol):
    """A workload of which one member is also measured alone.

    Attributes:
        one_node: A file with only that model.
        one_node_member: Its name among the handlers.
    """

    one_node: Path
    one_node_member: str

    def features(self, row: Any) -> Array:
        """Gives a row's features as Beam's handlers take them."""

    def answered(self, prediction: Any) -> Any:
        """Makes a row of the prediction of the only member."""


def values_path(name: str) -> Path:
    """Gives the file of a workload's values: doubles, little-endian, row by row, for all languages."""
    return BENCH / f"{name}.f64"


def table_path(name: str) -> Path:
    """Gives the file of a workload's values as the columns of its fields: Arrow's file format, one record batch."""
    return BENCH / f"{name}.arrow"


def file_for_clients(workload: Rows) -> Path:
    """Gives the file that the programs in Go and Java read: the doubles, or the table of another type."""
    return values_path(workload.name) if _holds_numbers(workload) else table_path(workload.name)


def read_values(workload: Rows) -> Array:
    """Gives a workload's values, as ``prepare`` does."""
    if _holds_numbers(workload):
        return np.fromfile(values_path(workload.name), "<f8").reshape(different(workload.name), -1)
    return read_columns(workload.name)[workload.fields[0][0]]


def read_columns(name: str) -> dict[str, Array]:
    """Gives the values of a workload's rows, a column a field."""
    return bare.columns_of(bare.read_table(table_path(name)))


def write_values(workload: Rows) -> None:
    """Prepares a workload and writes its values."""
    BENCH.mkdir(parents=True, exist_ok=True)
    values = workload.prepare()
    if _holds_numbers(workload):
        values.astype("<f8").tofile(values_path(workload.name))
    names = [name for name, _ in workload.fields]
    batch = pa.record_batch(_columns(values, len(names)), names)
    with pa.ipc.new_file(str(table_path(workload.name)), batch.schema) as writer:
        writer.write_batch(batch)


def _holds_numbers(workload: Rows) -> bool:
    return all(type_ not in (str, bytes) for _, type_ in workload.fields)


def _columns(values: Array, fields: int) -> list[pa.Array]:
    if values.ndim == 1:
        return [pa.array(values)]
    if fields > 1:
        return [pa.array(column) for column in values.T]
    return [pa.FixedSizeListArray.from_arrays(values.ravel(), values.shape[1])]


def different(name: str) -> int:
    """Gives how many different rows there are, ``n``: row ``i`` has the values of row ``i % n``.

    Runs have a multiple of that, so that answers are the same.
    """
    return {"light": MANY, "text": FEW, "image": FEW}.get(name, BATCH)


def load(name: str) -> Workload:
    """Gives the workload of a name."""
    workload: Workload = importlib.import_module(f"tests.benchmarks.{name}.workload").WORKLOAD
    return workload


def load_all() -> list[Workload]:
    """Gives all workloads."""
    return [load(name) for name in NAMES]
