"""Texts that are empty, of special characters, of other scripts, and of more tokens than the model reads."""

import transformers

from tests.support.conformance import write_pairs
from tests.support.transformers_models import MAKERS, Path

MAKERS["classifier"](Path("model"))
pipe = transformers.pipeline("text-classification", "model", device="cpu", top_k=None)
order = [pipe.model.config.id2label[at] for at in range(3)]
texts = [
    "the film was good .",
    "",
    " ",
    "\u200b",
    "[SEP] awful [CLS]",
    "\u0422\u0435\u043a\u0441\u0442",
    "good " * 62,
]
said = []
for text in texts:
    scores = {one["label"]: one["score"] for one in pipe([text])[0]}
    best = max(scores, key=scores.__getitem__)
    answer = {"label": best, "score": scores[best], "probabilities": [scores[name] for name in order]}
    said.append(({"text": text}, answer))
for text in ("good " * 63, "\u00e9 " * 100):
    said.append(({"text": text}, {"error": "mood wrong_value"}))
write_pairs(said)
