"""Makes the model of the text ensemble and its texts, the same ones on every run.

The model is a BERT of four layers, 256 wide, made from a configuration. Nobody taught it anything: it takes as long as
one that was taught.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Final

import numpy as np

SEED: Final = 23
CLASSES: Final = ("business", "science", "sports", "world")
SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
WORDS: Final = 4_000
WHOLE: Final = 3_000
"""Words that the tokenizer knows; it takes the others to pieces."""
SHORTEST, LONGEST = 10, 40
"""Words of a text."""


def words() -> list[str]:
    """Makes words of syllables, the frequent ones first."""
    random = np.random.default_rng(SEED)
    syllables = [
        f"{first}{vowel}{last}" for first in "bdfgklmnprstv" for vowel in "aeiou" for last in ("", "n", "r")
    ]
    found: dict[str, None] = {}
    while len(found) < WORDS:
        found["".join(random.choice(syllables, random.integers(1, 4)))] = None
    return list(found)


def texts(count: int) -> list[str]:
    """Makes texts of 10 to 40 words, whose frequencies fall as those of a language do."""
    random = np.random.default_rng(SEED + 1)
    known = np.array(words(), object)
    shares = 1 / np.arange(1, WORDS + 1)
    lengths = random.integers(SHORTEST, LONGEST + 1, count)
    return [" ".join(random.choice(known, length, p=shares / shares.sum())) + "." for length in lengths]


def _tokenizer(transformers: Any) -> Any:
    pieces = [*SPECIAL, ".", *LETTERS, *(f"##{letter}" for letter in LETTERS), *words()[:WHOLE]]
    vocabulary = {piece: at for at, piece in enumerate(dict.fromkeys(pieces))}
    return transformers.BertTokenizerFast(vocab=vocabulary, model_max_length=256)


def train(folder: Path) -> None:
    """Makes the model and its tokenizer and saves both as ``save_pretrained`` does."""
    import torch

    transformers: Any = importlib.import_module("transformers")
    tokenizer = _tokenizer(transformers)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
        intermediate_size=1_024, max_position_embeddings=256, initializer_range=0.1,
        id2label=dict(enumerate(CLASSES)), label2id={name: at for at, name in enumerate(CLASSES)},
    )  # fmt: skip
    torch.manual_seed(SEED)
    transformers.BertForSequenceClassification(config).eval().save_pretrained(folder / "classifier")
    tokenizer.save_pretrained(folder / "classifier")
