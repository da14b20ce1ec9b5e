"""The transformer of the text ensemble, with its tokenizer."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.benchmarks.bare import Array, Columns, Score

ROWS: Final = 32
OUTPUTS: Final[Mapping[str, str]] = {"label": "string", "score": "double"}
ANSWER: Final = ("score", None)


def load(models: Path) -> Score:
    """Loads the tokenizer and the model."""
    import torch

    transformers: Any = importlib.import_module("transformers")
    folder = models / "classifier"
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    names = np.array([model.config.id2label[at] for at in range(model.config.num_labels)], object)

    def score(columns: Columns) -> dict[str, Array]:
        encoded = tokenizer(columns["text"].tolist(), padding=True, return_tensors="pt")
        with torch.inference_mode():
            proba = model(**encoded).logits.softmax(-1).numpy()
        return {"label": names[proba.argmax(axis=1)], "score": proba.max(axis=1).astype(np.float64)}

    return score
