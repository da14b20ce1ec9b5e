"""Options that mean the same on each kind that has them, and that the checks of all kinds know."""

from __future__ import annotations

from typing import Any

from beam_ensembles.graph.options import Options, option
from beam_ensembles.limits import LARGEST_COUNT


class LabelOptions(Options):
    """The classes that a model or a vote tells apart."""

    labels: list[Any] | None = option(
        None,
        "The model's classes in the order of its probabilities, for a model that does not know them; votes compare "
        "them.",
        last=True,
    )


class NullOptions(Options):
    """What a null is to a model."""

    nulls: str = option(
        "fail",
        "What becomes of a row with a null in an input: it fails, or the model is given a missing value, such as NaN.",
        choices=("fail", "missing"),
        last=True,
    )


class SampleOptions(Options):
    """How many answers of a model belong to a row."""

    samples: int | None = option(
        None,
        "How many answers the model returns per row; each row's answers become a list.",
        most=LARGEST_COUNT,
        last=True,
    )
    per_row: bool = option(
        False,
        "Call the model once per row, with the row's lists as its batch: one image and its captions.",
        last=True,
    )


def is_per_row(options: Options) -> bool:
    """Whether a node's model is called once per row."""
    return isinstance(options, SampleOptions) and options.per_row


def samples_of(options: Options) -> int | None:
    """Returns a node's ``samples``."""
    return options.samples if isinstance(options, SampleOptions) else None
