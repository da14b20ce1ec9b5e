"""A model and what makes its inputs, for the tasks that transformers 5 has no pipeline for."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

from beam_ensembles.errors import EnsembleError
from beam_ensembles.handlers.huggingface.drawing import drawing

MOST_TOKENS: Final = 256
"""How long a text a model writes that says nothing about it: as long as transformers' own pipelines let it be."""

_LIMITS: Final = frozenset(("max_length", "max_new_tokens", "max_time"))


@dataclasses.dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded model of a task.

    Attributes:
        model: The model.
        tokenizer: Its tokenizer.
        processor: Its processor or image processor, None where it reads texts only.
        seeds: Those of the rows that it is still to write about, in order; None where rows have none.
    """

    model: Any
    tokenizer: Any
    processor: Any = None
    seeds: Iterator[int] | None = None

    def with_seeds(self, seeds: Sequence[int] | None) -> Loaded:
        """Returns the same for the rows of a batch, with their seeds."""
        return self if seeds is None else dataclasses.replace(self, seeds=iter(seeds))

    def encode(self, **parts: Any) -> dict[str, Any]:
        """Calls the processor, or the tokenizer where there is none, and puts the tensors where the model is."""
        encoded = (self.processor or self.tokenizer)(return_tensors="pt", **parts)
        moved: dict[str, Any] = dict(encoded.to(self.model.device))
        return moved

    def write(self, encoded: dict[str, Any], args: dict[str, Any]) -> list[str]:
        """Returns the texts that the model writes; up to ``MOST_TOKENS`` each where neither it nor the node says."""
        own = self.model.generation_config
        is_limited = not _LIMITS.isdisjoint(args) or any(getattr(own, name, None) for name in _LIMITS)
        limit = {} if is_limited else {"max_new_tokens": MOST_TOKENS}
        rows = len(next(iter(encoded.values())))
        with drawing(None if self.seeds is None else list(itertools.islice(self.seeds, rows))):
            ids = self.model.generate(**encoded, **limit, **args)
        texts: list[str] = self.tokenizer.batch_decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return [text.strip() for text in texts]


def load_parts(
    transformers: Any, model: Any, place: str, hub: dict[str, Any], *, reads_images: bool
) -> Loaded:
    """Loads what makes a model's inputs.

    Args:
        transformers: The library.
        model: The loaded model.
        place: Its folder, or its name on the hub.
        hub: What every loading takes besides.
        reads_images: Whether the task is about images.

    Raises:
        EnsembleError: The folder holds none.
    """
    if not reads_images:
        return Loaded(model, transformers.AutoTokenizer.from_pretrained(place, **hub))
    processor = transformers.AutoProcessor.from_pretrained(place, **hub)
    if hasattr(processor, "tokenizer"):
        return Loaded(model, processor.tokenizer, processor)
    images = transformers.AutoImageProcessor.from_pretrained(place, **hub)
    tokenizer = transformers.AutoTokenizer.from_pretrained(place, **hub)
    if tokenizer is None:
        raise EnsembleError(f"'{place}' holds no tokenizer")
    return Loaded(model, tokenizer, images)


def batches(rows: int, size: int) -> Iterator[slice]:
    """Returns the parts of a batch that go through a model one after the other."""
    return (slice(at, at + size) for at in range(0, rows, size))


def split_arguments(names: Sequence[str], args: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the arguments of some names, and the others."""
    return {name: args[name] for name in names if name in args}, {
        name: value for name, value in args.items() if name not in names
    }
