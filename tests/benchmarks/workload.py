"""What the benchmarks score: rows of one kind, an ensemble of them, and the same work without this project."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np

from scripts.layout import BUILD

Array = np.ndarray[Any, np.dtype[Any]]

BATCH: Final = 1_024
"""Rows a batch, in whatever way the models are called. There are as many different rows: row ``i`` has the values of
row ``i % BATCH``."""

BENCH: Final = BUILD / "bench"
"""Folder of what the benchmarks make."""

_MODULES: Final = ("light", "digits")


class Rows(Protocol):
    """Rows to score.

    Attributes:
        name: Name of the file of their values.
        fields: Names and Python types of a row's fields, but for ``id``.
    """

    name: str
    fields: Sequence[tuple[str, Any]]

    def prepare(self) -> Array:
        """Trains the models where that has not been done; gives the values, ``[BATCH, width]`` of double."""

    def as_fields(self, values: list[float]) -> dict[str, Any]:
        """Gives a row's fields by name, without its id."""

    def answer(self, row: Any) -> float:
        """Gives one number of a scored row, by which the ways are compared."""


class Workload(Rows, Protocol):
    """One ensemble and its rows, for all ways to score them.

    Attributes:
        ensemble: Its file.
        models: The folder of its models.
        one_node: A file with only one of its models.
        one_node_member: That model's name among the handlers.
    """

    ensemble: Path
    models: Path
    one_node: Path
    one_node_member: str

    def features(self, row: Any) -> Array:
        """Gives a row's features as Beam's handlers take them."""

    def keyed(self, row: Any) -> tuple[int, Array]:
        """Gives a row's id and features."""

    def handlers(self) -> Mapping[str, Any]:
        """Gives Beam's handler of each member, by name."""

    def joined(self, grouped: tuple[int, Mapping[str, Sequence[Any]]]) -> Any:
        """Combines the members' predictions for one id to the row that the ensemble gives, by hand."""

    def answered(self, prediction: Any) -> Any:
        """Makes a row of the prediction of the only member."""

    def loop(self) -> Callable[[Array], tuple[Array, ...]]:
        """Loads the members; gives what scores a batch ``[N, width]``: ``answer`` of each row, then the rest."""


def values_path(name: str) -> Path:
    """Gives the file of a workload's values: doubles, little-endian, row by row, for all languages."""
    return BENCH / f"{name}.f64"


def read_values(workload: Rows) -> Array:
    """Gives a workload's values, ``[BATCH, width]``."""
    return np.fromfile(values_path(workload.name), "<f8").reshape(BATCH, -1)


def write_values(workload: Rows) -> None:
    """Prepares a workload and writes its values."""
    BENCH.mkdir(parents=True, exist_ok=True)
    workload.prepare().astype("<f8").tofile(values_path(workload.name))


def load(name: str) -> Workload:
    """Gives the workload of a name."""
    workload: Workload = importlib.import_module(f"tests.benchmarks.{name}.workload").WORKLOAD
    return workload


def load_all() -> list[Workload]:
    """Gives all workloads."""
    return [load(name) for name in _MODULES]
