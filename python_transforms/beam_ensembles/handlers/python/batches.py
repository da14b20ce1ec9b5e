"""Examples -> the batches of one call each, by what a handler's ``batch_elements_kwargs`` say."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

HONOURED: Final = ("max_batch_size", "max_batch_weight", "element_size_fn", "length_fn", "bucket_boundaries")
"""The arguments that are honoured; the others are about waiting for more examples, and no more will come."""

_BOUNDARIES: Final = (16, 32, 64, 128, 256, 512)
"""Beam's own, where a handler says how long an example is, but not where to part them."""


def batches(examples: Sequence[Any], limits: Mapping[str, Any]) -> Iterator[list[int]]:
    """Yields the positions of the examples of each call.

    Args:
        examples: The examples.
        limits: Of ``max_batch_size``, ``max_batch_weight`` by ``element_size_fn``, and ``bucket_boundaries`` by
            ``length_fn``: examples of different buckets are never together.
    """
    most, heaviest = limits.get("max_batch_size"), limits.get("max_batch_weight")
    weigh = limits.get("element_size_fn") or (lambda _: 1)
    for bucket in _buckets(examples, limits):
        batch: list[int] = []
        weight = 0
        for at in bucket:
            own = weigh(examples[at]) if heaviest is not None else 0
            is_full = len(batch) == most or (heaviest is not None and weight + own > heaviest)
            if batch and is_full:
                yield batch
                batch, weight = [], 0
            batch.append(at)
            weight += own
        if batch:
            yield batch


def _buckets(examples: Sequence[Any], limits: Mapping[str, Any]) -> Iterator[Sequence[int]]:
    length_of = limits.get("length_fn")
    if length_of is None:
        yield range(len(examples))
        return
    boundaries = limits.get("bucket_boundaries") or _BOUNDARIES
    buckets: dict[int, list[int]] = {}
    for at, example in enumerate(examples):
        buckets.setdefault(bisect.bisect_right(boundaries, length_of(example)), []).append(at)
    for number in sorted(buckets):
        yield buckets[number]
