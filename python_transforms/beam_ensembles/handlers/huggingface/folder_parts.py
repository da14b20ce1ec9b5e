"""What a model's folder must hold beside its weights: transformers goes on with a tokenizer that knows no word.

All of it is read without transformers, so that a service can check it.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, Final

from beam_ensembles.graph.kinds import NodeView
from beam_ensembles.handlers.huggingface.folder_checks import read_json_file
from beam_ensembles.limits import LARGEST_JSON

TOKENIZER: Final = "tokenizer"
IMAGES: Final = "image_processor"
SOUNDS: Final = "feature_extractor"

_FAST: Final = "tokenizer.json"
_NAMES: Final = (
    _FAST,
    "vocab.txt",
    "vocab.json",
    "bpe.codes",
    "byte_maps.json",
    "tekken.json",
    "vocab-src.json",
)
_ENDINGS: Final = (".model", ".spm", ".tiktoken")
"""Files of vocabularies: those of sentencepiece and tiktoken have many names."""
_BYTES: Final = ("ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer")
"""Tokenizers without a vocabulary: each byte or character is a token."""
_BYTES_TYPES: Final = ("canine", "perceiver")
_PREPROCESSOR: Final = "preprocessor_config.json"
_PROCESSOR: Final = "processor_config.json"
_SAYS: Final = {IMAGES: "how images become numbers", SOUNDS: "how sounds become numbers"}
_FEWEST: Final = 0.9
"""Of a model's words; embeddings are padded to round numbers, but not by more than a few hundredths."""


def check_parts(node: NodeView, folder: str, config: Mapping[str, Any], wanted: Collection[str]) -> None:
    """Reports what a folder lacks of that which makes a model's inputs, and a tokenizer that is another model's.

    Args:
        node: The node.
        folder: The model's folder on this machine.
        config: Its ``config.json``.
        wanted: Which of ``TOKENIZER``, ``IMAGES`` and ``SOUNDS`` the node needs.
    """
    for part in (IMAGES, SOUNDS):
        if part in wanted and not _has_processor(folder, part):
            text = (
                f"'{folder}' has no {_PREPROCESSOR}, which says {_SAYS[part]}; save it beside the model: "
                "processor.save_pretrained(folder)"
            )
            node.problem("bad_model_file", "uri", text)
    if TOKENIZER not in wanted:
        return
    if not _has_tokenizer(folder, config):
        text = (
            f"'{folder}' has no tokenizer ({_FAST}, vocab.txt, vocab.json or a *.model file); save it beside the "
            "model: tokenizer.save_pretrained(folder)"
        )
        node.problem("bad_model_file", "uri", text)
        return
    _check_size(node, folder, config)


def _check_size(node: NodeView, folder: str, config: Mapping[str, Any]) -> None:
    """Compares the tokenizer's words with the model's, where both say how many they know."""
    size = _vocab_size(config)
    if size is None:
        return
    fast = read_json_file(os.path.join(folder, _FAST))
    last = _last_word(folder, fast)
    if last is None:
        return
    if last >= size:
        node.problem("bad_model_file", "uri", wrong_vocabulary(folder, last, size))
    elif last + 1 + _added(fast) < _FEWEST * size:
        text = f"the tokenizer of '{folder}' has {last + 1} words, but the model knows {size}: is it another model's?"
        node.warning("bad_model_file", "uri", text)


def wrong_vocabulary(place: str, last: int, size: int) -> str:
    """Returns the message for a tokenizer that makes tokens which its model does not know.

    Args:
        place: The model's folder or name.
        last: The greatest id of its words.
        size: How many words the model knows.
    """
    return (
        f"the tokenizer of '{place}' is that of another model: the ids of its words go up to {last}, and the model "
        f"knows {size} words (vocab_size in config.json)"
    )


def _has_processor(folder: str, part: str) -> bool:
    if os.path.exists(os.path.join(folder, _PREPROCESSOR)):
        return True
    whole = read_json_file(os.path.join(folder, _PROCESSOR))
    return isinstance(whole, Mapping) and part in whole


def _has_tokenizer(folder: str, config: Mapping[str, Any]) -> bool:
    names = os.listdir(folder)
    if any(name in _NAMES or name.endswith(_ENDINGS) for name in names):
        return True
    own = read_json_file(os.path.join(folder, "tokenizer_config.json"))
    named = own.get("tokenizer_class") if isinstance(own, Mapping) else None
    return named in _BYTES or config.get("model_type") in _BYTES_TYPES


def _vocab_size(config: Mapping[str, Any]) -> int | None:
    text = config.get("text_config")
    size = config.get("vocab_size", text.get("vocab_size") if isinstance(text, Mapping) else None)
    return size if isinstance(size, int) and not isinstance(size, bool) else None


def _last_word(folder: str, fast: Any) -> int | None:
    """Returns the greatest id of a folder's vocabulary; None where only its own library can read that.

    Args:
        folder: The model's folder.
        fast: The content of its ``tokenizer.json``; None where it has none.
    """
    names = os.listdir(folder)
    if _FAST in names:
        vocabulary = _part(_part(fast, "model"), "vocab")
        if isinstance(vocabulary, list):  # pieces with their scores
            return len(vocabulary) - 1 if vocabulary else None
        return _greatest(vocabulary)
    if "vocab.json" in names:
        return _greatest(read_json_file(os.path.join(folder, "vocab.json")))
    path = os.path.join(folder, "vocab.txt")
    if not os.path.isfile(path) or not 0 < os.path.getsize(path) <= LARGEST_JSON:
        return None
    with open(path, "rb") as file:
        return sum(1 for _ in file) - 1


def _greatest(vocabulary: Any) -> int | None:
    ids = vocabulary.values() if isinstance(vocabulary, Mapping) else ()
    return max((at for at in ids if isinstance(at, int)), default=None)


def _added(fast: Any) -> int:
    tokens = _part(fast, "added_tokens")
    return len(tokens) if isinstance(tokens, list) else 0


def _part(content: Any, name: str) -> Any:
    return content.get(name) if isinstance(content, Mapping) else None
