"""Options that mean the same on each kind that has them, and that the checks of all kinds know."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any

from beam_ensembles.graph.class_meanings import are_labels
from beam_ensembles.graph.options import Mistake, Options, option
from beam_ensembles.limits import LARGEST_COUNT


class LabelOptions(Options):
    """The classes that a model or a vote tells apart."""

    labels: list[Any] | None = option(
        None,
        "The model's classes in the order of its probabilities, for a model that does not know them; votes compare "
        "them.",
        last=True,
    )

    def mistakes(self) -> Iterator[Mistake]:
        """Finds labels that are no labels, and those that occur twice."""
        yield from super().mistakes()
        labels = self.labels
        if labels is None:
            return
        if not are_labels(labels):
            text = "labels are texts or whole numbers of 64 bits, all of one kind (quote texts)"
            yield Mistake("labels", "bad_labels", text)
            return
        twice = next((label for label, count in collections.Counter(labels).items() if count > 1), None)
        if twice is not None:
            yield Mistake("labels", "bad_labels", f"the label {twice!r} occurs twice")


class NullOptions(Options):
    """What a null is to a model."""

    nulls: str = option(
        "fail",
        "Whether a row with a null in an input fails, or the model gets a missing value, such as NaN.",
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

    def mistakes(self) -> Iterator[Mistake]:
        """Finds a number of answers that no row has."""
        yield from super().mistakes()
        if self.samples is not None and self.samples < 1:
            text = f"'samples' is {self.samples}; a row has at least 1 answer"
            yield Mistake("samples", "bad_value", text)
        elif self.samples is not None and self.per_row:
            text = "with 'per_row' all that one call gives belongs to its row; leave 'samples' out"
            yield Mistake("samples", "bad_value", text)


def is_per_row(options: Options) -> bool:
    """Whether a node's model is called once per row."""
    return isinstance(options, SampleOptions) and options.per_row


def samples_of(options: Options) -> int | None:
    """Returns a node's ``samples``."""
    return options.samples if isinstance(options, SampleOptions) else None
