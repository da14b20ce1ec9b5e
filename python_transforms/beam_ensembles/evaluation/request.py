"""The request of an evaluation, and the report of its progress."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from beam_ensembles.tables.chunk import Reader


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """What to evaluate.

    Attributes:
        file: The ensemble file.
        input: The file of labelled rows.
        label: The field of the known answers.
        task: ``labels``, ``numbers`` or ``lists``; None infers it from the types.
        answer: The output that is the ensemble's answer; None takes the first that can be.
        positive: The positive class as text; None: the greater of two.
        by: The field whose values are slices, or None.
        k: How many candidates of a ranked list count.
        quantile: The quantile of the pinball loss.
        seed: Of the resampling.
        parameters: Values of ``${name}`` in the ensemble file.
        trust: Folders whose pickles may be loaded unpinned, beside the ensemble file's own.
        batch_size: Rows at once, at most.
        cache: The folder in which answers of models are kept, or None.
    """

    file: str
    input: str
    label: str
    task: str | None = None
    answer: str | None = None
    positive: str | None = None
    by: str | None = None
    k: int = 10
    quantile: float = 0.5
    seed: int = 0
    parameters: Mapping[str, str] = dataclasses.field(default_factory=dict)
    trust: Sequence[str] = ()
    batch_size: int = 1_024
    cache: str | None = None


Progress = Callable[[str, Reader | None, int], None]
"""Is told what is being done, of what, and how many rows are scored."""
