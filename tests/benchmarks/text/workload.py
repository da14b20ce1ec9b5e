"""One text per row and a small transformer: strings cross, and the model is nearly all of the work.

The model is a BERT of four layers, 256 wide, made from a configuration. It has learned nothing, which takes as long.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from scripts.made import Made
from tests.benchmarks.workload import FEW, Array, Columns, Score, Workload

SEED: Final = 23
CLASSES: Final = ("business", "science", "sports", "world")
SPECIAL: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
WORDS: Final = 4_000
WHOLE: Final = 3_000
"""Words that the tokenizer knows; it splits the others."""


class Text(Workload):
    """The text ensemble."""

    name = "text"
    fields: ClassVar = {"text": str}
    outputs: ClassVar = {"label": "string", "score": "double"}
    answer = ("score", None)
    rows_at_once = 32
    different = FEW

    def prepare(self) -> Array:
        product, sources = self._folder / "model.safetensors", [self.folder / "workload.py"]
        Made(self.models / ".made", (product,), lambda: sources).make(self._make)
        return np.array(_texts(), object)

    @property
    def _folder(self) -> Any:
        return self.models / "classifier"

    def _make(self) -> None:
        import torch

        transformers: Any = importlib.import_module("transformers")
        pieces = [*SPECIAL, ".", *LETTERS, *(f"##{letter}" for letter in LETTERS), *_words()[:WHOLE]]
        vocabulary = {piece: at for at, piece in enumerate(dict.fromkeys(pieces))}
        tokenizer = transformers.BertTokenizerFast(vocab=vocabulary, model_max_length=256)
        config = transformers.BertConfig(
            vocab_size=len(tokenizer), hidden_size=256, num_hidden_layers=4, num_attention_heads=4,
            intermediate_size=1_024, max_position_embeddings=256, initializer_range=0.1,
            id2label=dict(enumerate(CLASSES)), label2id={name: at for at, name in enumerate(CLASSES)},
        )  # fmt: skip
        torch.manual_seed(SEED)
        transformers.BertForSequenceClassification(config).eval().save_pretrained(self._folder)
        tokenizer.save_pretrained(self._folder)

    def load(self) -> Score:
        import torch

        transformers: Any = importlib.import_module("transformers")
        tokenizer = transformers.AutoTokenizer.from_pretrained(self._folder)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(self._folder).eval()
        names = np.array([model.config.id2label[at] for at in range(model.config.num_labels)], object)

        def score(columns: Columns) -> dict[str, Array]:
            encoded = tokenizer(columns["text"].tolist(), padding=True, return_tensors="pt")
            with torch.inference_mode():
                proba = model(**encoded).logits.softmax(-1).numpy()
            return {"label": names[proba.argmax(axis=1)], "score": proba.max(axis=1).astype(np.float64)}

        return score

    def features(self, row: Any) -> str:
        return str(row.text)

    def handlers(self) -> Mapping[str, Any]:
        """Returns the handler of the model: transformers' own pipeline, which reads as many texts at once."""
        from beam_ensembles.beam_repairs.inference_imports import import_handlers
        from tests.benchmarks import members

        inference = import_handlers("huggingface_inference")
        handler = inference.HuggingFacePipelineModelHandler(
            task="text-classification", model=str(self._folder), inference_fn=_of_list,
            **members.batches_of(self.rows_at_once),
        )  # fmt: skip
        return {"kind": handler}

    def joined(self, found: Mapping[str, Any]) -> dict[str, Any]:
        kind = found["kind"]
        return {
            "text": kind.example, "label": kind.inference["label"], "score": kind.inference["score"]
        }  # fmt: skip


def _of_list(batch: Sequence[str], pipeline: Any, inference_args: Mapping[str, Any]) -> Any:
    """Calls the pipeline with a whole batch: by default it reads texts one by one.

    It takes a tuple, as keyed handlers of Beam 2.77 pass it on, for a single text.
    """
    return pipeline(list(batch), batch_size=len(batch), **inference_args)


def _words() -> list[str]:
    """Creates words of syllables, the frequent ones first."""
    random = np.random.default_rng(SEED)
    syllables = [
        f"{first}{vowel}{last}" for first in "bdfgklmnprstv" for vowel in "aeiou" for last in ("", "n", "r")
    ]
    found: dict[str, None] = {}
    while len(found) < WORDS:
        found["".join(random.choice(syllables, random.integers(1, 4)))] = None
    return list(found)


def _texts() -> list[str]:
    """Creates texts of 10 to 40 words, whose frequencies fall as those of a language do."""
    random = np.random.default_rng(SEED + 1)
    known = np.array(_words(), object)
    shares = 1 / np.arange(1, WORDS + 1)
    lengths = random.integers(10, 41, FEW)
    return [" ".join(random.choice(known, length, p=shares / shares.sum())) + "." for length in lengths]


WORKLOAD = Text()
