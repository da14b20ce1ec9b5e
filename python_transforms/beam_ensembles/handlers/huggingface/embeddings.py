"""``feature-extraction``: one vector a text, or one a token.

The pipeline gives the padding's vectors together with those of the text once texts go through the model together, and
does not say which are which. So its tokenizer and its model are called here, and padding is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.handlers.arguments import Values
from beam_ensembles.handlers.huggingface.by_length import by_length
from beam_ensembles.handlers.huggingface.loaded import batches

POOLINGS: Final = ("mean", "cls", "max")
"""How the vectors of a text's tokens become one: their average, the first one, or the greatest of each number."""


def embed(
    pipe: Any, inputs: Mapping[str, Sequence[Any]], args: dict[str, Any], size: int
) -> Mapping[str, Sequence[Any]]:
    """Gives ``embedding`` [N, hidden] and ``tokens``, for each text ``[tokens, hidden]``.

    Args:
        pipe: The pipeline.
        inputs: ``text``.
        args: ``pooling``, ``normalize`` and the tokenizer's arguments.
        size: How many texts go through the model at once.
    """
    options = dict(args)
    pooling, normalize = options.pop("pooling", "mean"), options.pop("normalize", False)
    step = 1 if pipe.tokenizer.pad_token_id is None else size
    tokens = by_length(lambda texts: _token_vectors(pipe, texts, options, step), inputs["text"])
    vectors = np.stack([_pooled(one, pooling) for one in tokens])
    if normalize:
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return {"embedding": vectors, "tokens": tokens}  # type: ignore[dict-item]


def _token_vectors(
    pipe: Any, texts: Sequence[str], options: Mapping[str, Any], step: int
) -> Iterator[Values]:
    """Gives the vectors of each text's tokens, ``[tokens, hidden]``; ``step`` texts go through the model at once."""
    for part in batches(len(texts), step):
        yield from _together(pipe, texts[part], options)


def _together(pipe: Any, texts: Sequence[str], options: Mapping[str, Any]) -> list[Values]:
    padding = {"padding": True} if len(texts) > 1 else {}
    encoded = pipe.tokenizer(texts, return_tensors="pt", **{**padding, **options})
    vectors = pipe.forward(dict(encoded))[0].float().numpy()
    if "attention_mask" not in encoded:
        return list(vectors)
    return [one[mask] for one, mask in zip(vectors, encoded["attention_mask"].bool().numpy(), strict=True)]


def _pooled(tokens: Values, pooling: str) -> Values:
    if pooling == "cls":
        return tokens[0]  # type: ignore[no-any-return]
    found = tokens.max(axis=0) if pooling == "max" else tokens.mean(axis=0)
    return np.asarray(found)
