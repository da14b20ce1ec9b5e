"""The metrics of a job's ensembles as values. Their fields are called as the metrics are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from beam_ensembles.messages.printable import printable
from beam_ensembles.metrics.table import HEADINGS, INPUT_HEADINGS, Cells, lines


@dataclasses.dataclass(frozen=True, slots=True)
class Distribution:
    """What a metric knows of many numbers.

    Attributes:
        count: How many there were, at least one.
        sum: Their sum.
        min: The smallest.
        max: The largest.
    """

    count: int
    sum: int
    min: int
    max: int

    @property
    def mean(self) -> float:
        """Their mean."""
        return self.sum / self.count

    def __add__(self, other: Distribution) -> Distribution:
        return Distribution(
            self.count + other.count,
            self.sum + other.sum,
            min(self.min, other.min),
            max(self.max, other.max),
        )

    def as_data(self) -> dict[str, Any]:
        """Returns it as plain data."""
        return {**dataclasses.asdict(self), "mean": self.mean}


@dataclasses.dataclass(frozen=True, slots=True)
class NodeMetrics:
    """The metrics of one node. A distribution is None where nothing was measured: the node never ran.

    Attributes:
        node: Name of the node.
        num_inferences: Rows that it answered.
        failed_rows: Rows that it failed on, whatever its ``on_error`` made of them.
        failed_batches_counter: Batches with a row that it failed on.
        skipped_rows: Rows for which its condition does not hold.
        inference_request_batch_size: Rows of each batch that it ran on.
        inference_request_batch_byte_size: Bytes of the columns that it read of each batch.
        inference_batch_latency_micro_secs: Microseconds for each batch.
        load_model_latency_milli_secs: Milliseconds for each time that it was loaded, once per worker process.
        model_byte_size: Bytes by which the peak memory of the process grew meanwhile.
        arms: For a route: rows that took each arm, by the arm's name.
        agreements: For a shadow: rows on which it says what the node beside it says.
        disagreements: For a shadow: rows on which it says something else.
        differences_millionths: For a shadow: the sum over these rows of how far its numbers are off, in millionths.
        greatest_difference_millionths: For a shadow: the greatest difference of each batch, in millionths.
        usage: What it counts besides rows, by name: calls of a server, tokens, answers from a cache.
        call_latency_micro_secs: Microseconds for each call of a server.
    """

    node: str
    num_inferences: int = 0
    failed_rows: int = 0
    failed_batches_counter: int = 0
    skipped_rows: int = 0
    inference_request_batch_size: Distribution | None = None
    inference_request_batch_byte_size: Distribution | None = None
    inference_batch_latency_micro_secs: Distribution | None = None
    load_model_latency_milli_secs: Distribution | None = None
    model_byte_size: Distribution | None = None
    arms: Mapping[str, int] = dataclasses.field(default_factory=dict)
    agreements: int = 0
    disagreements: int = 0
    differences_millionths: int = 0
    greatest_difference_millionths: Distribution | None = None
    usage: Mapping[str, int] = dataclasses.field(default_factory=dict)
    call_latency_micro_secs: Distribution | None = None

    @property
    def mean_difference(self) -> float | None:
        """By how much a shadow's numbers differ, the mean over its rows; None where it gives none."""
        compared = self.agreements + self.disagreements
        if self.greatest_difference_millionths is None or not compared:
            return None
        return self.differences_millionths / 1e6 / compared

    @property
    def greatest_difference(self) -> float | None:
        """By how much a shadow's numbers differ at most; None where it gives none."""
        found = self.greatest_difference_millionths
        return None if found is None else found.max / 1e6

    def as_data(self) -> dict[str, Any]:
        """Returns them as plain data."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def cells(self) -> Cells:
        """Returns them as a line of the table."""
        batches = self.inference_request_batch_size
        return (
            printable(self.node),
            str(self.num_inferences),
            str(self.failed_rows),
            str(self.skipped_rows),
            str(batches.count if batches else 0),
            _spread(batches, 1, 1, 0),
            _spread(self.inference_batch_latency_micro_secs, 1_000, 2, 2),
            _mean(self.load_model_latency_milli_secs, 1, 0),
            _mean(self.model_byte_size, 1 << 20, 1),
            ", ".join(self._notes()),
        )

    def _notes(self) -> list[str]:
        notes = [f"{printable(arm)} {rows}" for arm, rows in sorted(self.arms.items())]
        compared = self.agreements + self.disagreements
        if compared:
            notes.append(f"agrees on {self.agreements} of {compared}")
        if self.mean_difference is not None and self.greatest_difference is not None:
            notes.append(f"differs by {self.mean_difference:.6f} ({self.greatest_difference:.6f} at most)")
        notes += [f"{printable(name)} {count}" for name, count in sorted(self.usage.items())]
        return notes


@dataclasses.dataclass(frozen=True, slots=True)
class InputMetrics:
    """The metrics of one input that is compared with its profile.

    Attributes:
        column: Name of the input.
        compared_rows: Rows that were compared.
        null_rows: Those of them in which it is null.
        out_of_range_values: Numbers in them below the smallest or above the largest of the profile.
        unseen_values: Texts in them that are none of the profile's categories.
        drifted_windows: Windows of these rows in which it differs from its profile.
        population_stability_index_millionths: The population stability index of each window, in millionths.
    """

    column: str
    compared_rows: int = 0
    null_rows: int = 0
    out_of_range_values: int = 0
    unseen_values: int = 0
    drifted_windows: int = 0
    population_stability_index_millionths: Distribution | None = None

    @property
    def windows(self) -> int:
        """How many windows were compared."""
        found = self.population_stability_index_millionths
        return 0 if found is None else found.count

    def as_data(self) -> dict[str, Any]:
        """Returns them as plain data."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def cells(self) -> Cells:
        """Returns them as a line of the table."""
        return (
            printable(self.column),
            str(self.compared_rows),
            str(self.null_rows),
            str(self.out_of_range_values),
            str(self.unseen_values),
            str(self.windows),
            str(self.drifted_windows),
            _spread(self.population_stability_index_millionths, 1_000_000, 3, 3),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class EnsembleMetrics:
    """The metrics of one ensemble of a job. Its text is a table.

    Attributes:
        ensemble: Name of the ensemble.
        nodes: Those of its nodes that have measured something, by name.
        refreshes: New versions of the ensemble that went on, counted for each stage on each worker.
        refused_refreshes: New versions that could not, counted likewise.
        refused_refreshes_by_gate: Those of them whose answers were beyond the limits of the gate.
        inputs: Those of its inputs that were compared with a profile, by name.
    """

    ensemble: str
    nodes: tuple[NodeMetrics, ...]
    refreshes: int = 0
    refused_refreshes: int = 0
    refused_refreshes_by_gate: int = 0
    inputs: tuple[InputMetrics, ...] = ()

    def input(self, name: str) -> InputMetrics:
        """Returns the metrics of one input; one that was not compared has zeros.

        Args:
            name: Name of the input.
        """
        return next((one for one in self.inputs if one.column == name), InputMetrics(name))

    def node(self, name: str) -> NodeMetrics:
        """Returns the metrics of one node; one that has measured nothing has zeros.

        Args:
            name: Name of the node.
        """
        return next((node for node in self.nodes if node.node == name), NodeMetrics(name))

    def as_data(self) -> dict[str, Any]:
        """Returns them as plain data, for JSON."""
        return {
            "ensemble": self.ensemble,
            "refreshes": self.refreshes,
            "refused_refreshes": self.refused_refreshes,
            "refused_refreshes_by_gate": self.refused_refreshes_by_gate,
            "nodes": [node.as_data() for node in self.nodes],
            "inputs": [one.as_data() for one in self.inputs],
        }

    def __str__(self) -> str:
        title = f"ensemble '{printable(self.ensemble)}'"
        if self.refreshes or self.refused_refreshes:
            title += f": refreshes {self.refreshes}, refused {self.refused_refreshes}"
        if self.refused_refreshes_by_gate:
            title += f" ({self.refused_refreshes_by_gate} by the gate)"
        table = lines(HEADINGS, [node.cells() for node in self.nodes])
        if self.inputs:
            table += lines(INPUT_HEADINGS, [one.cells() for one in self.inputs])
        return "\n".join([title, *table])


def _plain(value: Any) -> Any:
    if isinstance(value, Distribution):
        return value.as_data()
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


def _mean(found: Distribution | None, unit: int, digits: int) -> str:
    return "-" if found is None else f"{found.mean / unit:.{digits}f}"


def _spread(found: Distribution | None, unit: int, digits: int, digits_of_ends: int) -> str:
    if found is None:
        return "-"
    ends = f"({found.min / unit:.{digits_of_ends}f} to {found.max / unit:.{digits_of_ends}f})"
    return f"{_mean(found, unit, digits)} {ends}"
