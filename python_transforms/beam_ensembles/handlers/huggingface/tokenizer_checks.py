"""Whether a loaded tokenizer is its model's own: without its files every word is unknown, which transformers allows."""

from __future__ import annotations

import os
from typing import Any, Final

from beam_ensembles.errors import (
    ModelFormatError,
)
from beam_ensembles.handlers.huggingface.folder_parts import wrong_vocabulary

_TOKENIZER: Final = "tokenizer.json"


def tokenizer_of(parts: Any) -> Any:
    """Returns the tokenizer of a pipeline or of a model's parts; None where it has none."""
    found = getattr(parts, "tokenizer", None)
    return getattr(getattr(parts, "processor", None), "tokenizer", None) if found is None else found


def check_tokenizer(tokenizer: Any, config: Any, place: str) -> None:
    """Checks that a tokenizer knows words, and none that the model does not know.

    Args:
        tokenizer: The tokenizer.
        config: The model's configuration; None where there is no model.
        place: The model's folder, or its name on the hub.

    Raises:
        ModelFormatError: It is not the model's, or its files are not all there.
    """
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    added = set(tokenizer.added_tokens_decoder)
    words = [at for at in vocabulary.values() if at not in added]
    special = set(tokenizer.all_special_ids)
    if not any(at not in special for at in words):
        raise ModelFormatError(
            f"the tokenizer of '{place}' knows no words: its files are missing. Save it beside the model: "
            "tokenizer.save_pretrained(folder)"
        )
    _check_merges(tokenizer, place)
    size = getattr(config.get_text_config(), "vocab_size", None) if config is not None else None
    last = max(words)
    if isinstance(size, int) and last >= size:
        raise ModelFormatError(wrong_vocabulary(place, last, size))


def _check_merges(tokenizer: Any, place: str) -> None:
    """Refuses a vocabulary without the merges that make its words of letters."""
    merges = type(tokenizer).vocab_files_names.get("merges_file")
    if merges is None or not os.path.isdir(place):
        return
    names = os.listdir(place)
    if _TOKENIZER not in names and merges not in names:
        raise ModelFormatError(f"'{place}' has a vocabulary, but no {merges}: each letter would be a word")
