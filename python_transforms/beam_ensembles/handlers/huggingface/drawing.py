"""Random draws that are a row's own: with a ``seed``, what ``do_sample`` draws follows from it and the row's inputs.

``generate`` draws with PyTorch's one generator, so that a row's words depend on all that was drawn before. With a
``seed`` each row has a generator of its own: it draws the same words in every batch, bundle, run and language.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from beam_ensembles.graph.kinds import CheckedNode, Columns, NodeView
from beam_ensembles.handlers.huggingface.folder_checks import read_json_file

if TYPE_CHECKING:
    from beam_ensembles.handlers.huggingface.options import HuggingFaceOptions

DRAWING_TASKS: Final = ("text-generation",)
"""Tasks whose pipelines draw by default."""
SEEDS: Final = ""
"""The name under which a batch carries its rows' seeds beside their inputs; no port is called so."""


def check_seed(node: NodeView[HuggingFaceOptions], *, writes: bool, draws: bool = False) -> None:
    """Reports a ``seed`` that is none, or that nothing is drawn with.

    Args:
        node: The node.
        writes: Whether the model writes texts, which is when it can draw.
        draws: Whether it draws where ``do_sample`` is not given.
    """
    seed = node.options.seed
    if seed is None:
        if writes and node.options.inference_args.get("do_sample", draws):
            text = "the model draws words at random, others in each run: set 'seed' on the node, or 'do_sample: false'"
            node.warning("missing_key", "seed", text)
        return
    if not writes:
        text = "nothing is drawn here; 'seed' is for 'method: generate' and for tasks that write texts"
        node.problem("unsupported_option", "seed", text)
    elif seed < 0:
        node.problem("bad_value", "seed", f"'seed' is {seed}; it is a whole number of at least 0")


def draws_by_itself(folder: str | None) -> bool:
    """Whether a model's folder says that it draws where the node says nothing."""
    own = None if folder is None else read_json_file(os.path.join(folder, "generation_config.json"))
    return isinstance(own, Mapping) and own.get("do_sample") is True


def seeds_of(node: CheckedNode[HuggingFaceOptions], columns: Columns) -> dict[str, list[int]]:
    """The seeds of a batch's rows, by ``SEEDS``, to put beside their inputs; nothing where the node has no seed.

    A row that is a batch of its own (``per_row``) has one.
    """
    seed = node.options.seed
    if seed is None:
        return {}
    values = [columns[name] for name in node.spec.columns]
    rows: Iterable[Sequence[Any]] = [values] if node.options.per_row else zip(*values, strict=True)
    return {SEEDS: [row_seed(seed, row) for row in rows]}


def row_seed(seed: int, row: Iterable[Any]) -> int:
    """Returns a row's seed: 8 bytes of the BLAKE2b digest of the node's seed and of the row's values.

    Args:
        seed: The node's.
        row: The values that the node reads, in the order of its inputs.
    """
    digest = hashlib.blake2b(str(seed).encode(), digest_size=8)
    for value in row:
        content = _content(value)
        digest.update(len(content).to_bytes(8, "big") + content)
    return int.from_bytes(digest.digest(), "big")


def _content(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        return value.tobytes()
    if isinstance(value, np.ndarray):
        return repr(value.tolist()).encode()
    return repr(value).encode()


def parted_seeds(batch: Mapping[str, Any]) -> tuple[dict[str, Any], list[int] | None]:
    """Returns a batch's inputs, and its rows' seeds where it has any."""
    inputs = dict(batch)
    seeds = inputs.pop(SEEDS, None)
    return inputs, seeds


def drawing(seeds: Sequence[int] | None) -> contextlib.AbstractContextManager[Any]:
    """Returns a context, of this thread alone, in which each row of a batch draws with a generator of its own.

    Args:
        seeds: One a row; None leaves everything as it is.
    """
    return contextlib.nullcontext() if seeds is None else _draws()(seeds)


@functools.cache
def _draws() -> Any:
    """Creates the context's class, once PyTorch is there."""
    import torch
    from torch.overrides import TorchFunctionMode

    class Draws(TorchFunctionMode):
        """Intercepts draws from PyTorch: each row's draws, for its texts or beams, come from its own stream."""

        def __init__(self, seeds: Sequence[int]) -> None:
            super().__init__()
            self._seeds = seeds
            self._generators: list[Any] = []

        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if function not in (torch.multinomial, torch.Tensor.multinomial):
                return function(*args, **(kwargs or {}))
            weights, *rest = args
            parts = weights.chunk(len(self._seeds))
            drawn = [
                torch.multinomial(part, *rest, **{**(kwargs or {}), "generator": generator})
                for part, generator in zip(parts, self._on(weights.device), strict=True)
            ]
            return torch.cat(drawn)

        def _on(self, device: Any) -> list[Any]:
            """Returns the rows' generators: one goes on where it was, draw after draw."""
            if not self._generators:
                self._generators = [torch.Generator(device).manual_seed(seed) for seed in self._seeds]
            return self._generators

    return Draws
