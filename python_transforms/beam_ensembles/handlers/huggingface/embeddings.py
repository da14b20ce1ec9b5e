"""``feature-extraction``: one vector a text, or one a token.

The pipeline gives the padding's vectors together with those of the text once texts go through the model together, and
does not say which are which. So its tokenizer and its model are called here, and padding is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from beam_ensembles.errors import NodeError
from beam_ensembles.handlers.huggingface.by_length import by_length
from beam_ensembles.handlers.huggingface.lengths import CUT, MAX_LENGTH, check_texts, tokenizing
from beam_ensembles.handlers.huggingface.loaded import batches
from beam_ensembles.handlers.huggingface.pipelines import texts_at_once
from beam_ensembles.handlers.support.arguments import Values

POOLINGS: Final = ("mean", "cls", "max", "last")
"""How the vectors of a text's tokens become one: their average, the first, the greatest of each number, or the last."""


def embed(
    pipe: Any, inputs: Mapping[str, Sequence[Any]], args: dict[str, Any], size: int
) -> Mapping[str, Sequence[Any]]:
    """Returns ``embedding`` [N, hidden] and ``tokens``, for each text ``[tokens, hidden]``.

    Args:
        pipe: The pipeline.
        inputs: ``text``.
        args: ``pooling``, ``normalize``, ``prompt`` and the tokenizer's arguments.
        size: How many texts go through the model at once.
    """
    options = tokenizing(args)
    prompt = options.pop("prompt", "")
    whole = [prompt + text for text in inputs["text"]]
    check_texts(pipe.tokenizer, whole, args, CUT, most=args.get(MAX_LENGTH))
    pooling, normalize = options.pop("pooling", "mean"), options.pop("normalize", False)
    step = texts_at_once(pipe, size)
    tokens = by_length(lambda texts: _token_vectors(pipe, texts, options, step), whole)
    vectors = np.stack([_pooled(one, pooling) for one in tokens])
    if np.isnan(vectors).any():
        raise NodeError("bad_output", "the model's vector holds numbers that are none (NaN)")
    if normalize:
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    return {"embedding": vectors, "tokens": tokens}  # type: ignore[dict-item]


def _token_vectors(
    pipe: Any, texts: Sequence[str], options: Mapping[str, Any], step: int
) -> Iterator[Values]:
    """Yields the vectors of each text's tokens, ``[tokens, hidden]``; ``step`` texts go through the model at once."""
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
    if pooling in ("cls", "last"):
        return tokens[0 if pooling == "cls" else -1]  # type: ignore[no-any-return]
    found = tokens.max(axis=0) if pooling == "max" else tokens.mean(axis=0)
    return np.asarray(found)
