"""Names in texts; transformers looks for them in the first 64 tokens only, without a word."""

import transformers

from tests.support.conformance import write_pairs
from tests.support.transformers_models import MAKERS, Path

MAKERS["entities"](Path("model"))
pipe = transformers.pipeline("token-classification", "model", device="cpu")
said = []
for text in ("anna lives in paris .", "who wrote it ?", "", "film " * 62):
    found = pipe(text)
    answer = {
        "words": [one["word"] for one in found],
        "scores": [float(one["score"]) for one in found],
        "starts": [one["start"] for one in found],
    }
    said.append(({"text": text}, answer))
write_pairs([*said, ({"text": "film " * 80 + "anna"}, {"error": "whole wrong_value"})])
