"""What is compared with what, what is to be reached, and what came out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from tests.benchmarks.pipelines import ONE_NODE, RUN_INFERENCE
from tests.benchmarks.service_times import Times

PYTHON: Final = "python"
SERVICE: Final = "service"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One line of the results.

    Attributes:
        ensemble: Name of the ensemble.
        caller: Who scores: ``python``, ``go-prism``; ``service`` for the service's own times.
        what: What was measured.
        rows_per_second: Its rate; None for a time.
        against: What it is compared with.
        against_rows_per_second: The rate of that.
        ratio: The one divided by the other.
        target: The ratio to reach: at least, for rates; at most, for times; None where the difference counts.
        seconds: The time measured, for a time.
        against_seconds: The time of what it is compared with.
        target_difference: How many seconds more it may take.
        batch_rows: Rows a batch, where these are what was measured.
        against_batch_rows: Those of what it is compared with.
    """

    ensemble: str
    caller: str
    what: str
    against: str
    ratio: float
    rows_per_second: float | None = None
    against_rows_per_second: float | None = None
    target: float | None = None
    seconds: float | None = None
    against_seconds: float | None = None
    target_difference: float | None = None
    batch_rows: float | None = None
    against_batch_rows: float | None = None

    @classmethod
    def of_rates(
        cls, ensemble: str, caller: str, what: str, ours: float, against: str, theirs: float, target: float
    ) -> Comparison:
        """Compares a rate with that of ``against``."""
        return cls(
            ensemble=ensemble,
            caller=caller,
            what=what,
            against=against,
            ratio=ours / theirs,
            rows_per_second=ours,
            against_rows_per_second=theirs,
            target=target,
        )

    @property
    def reached(self) -> bool:
        """Whether the target was reached."""
        if self.target_difference is not None:
            return (self.seconds or 0) - (self.against_seconds or 0) <= self.target_difference
        if self.seconds is not None:
            return self.ratio <= (self.target or 0)
        return self.ratio >= (self.target or 0)


RUN_INFERENCE_TARGET: Final = 1.0
READY_TARGET: Final = 1.5
EXPAND_TARGET: Final = 1.5


def of_one_node(ensemble: str, rates: Mapping[str, float]) -> Comparison:
    """Compares an ensemble of one model with that model in RunInference."""
    ours, theirs = rates[ONE_NODE], rates[RUN_INFERENCE]
    return Comparison.of_rates(ensemble, PYTHON, ONE_NODE, ours, RUN_INFERENCE, theirs, RUN_INFERENCE_TARGET)


def of_ready(times: Times) -> Comparison:
    """Compares how soon the service is ready."""
    return Comparison(
        ensemble="-",
        caller=SERVICE,
        what="ready",
        against="importing Beam and RunInference",
        ratio=times.ours / times.beam,
        seconds=times.ours,
        against_seconds=times.beam,
        target_difference=READY_TARGET,
    )


def of_expand(times: Times) -> Comparison:
    """Compares an expansion."""
    return Comparison(
        ensemble="twenty nodes",
        caller=SERVICE,
        what="Expand",
        against="Beam's Expand of one RunInference",
        ratio=times.ours / times.beam,
        seconds=times.ours,
        against_seconds=times.beam,
        target=EXPAND_TARGET,
    )
