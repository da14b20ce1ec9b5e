"""Names in texts; transformers looks for them in the first 64 tokens only, without a word."""

import json

import transformers

from tests.support.transformers_models import MAKERS, Path

MAKERS["entities"](Path("model"))
pipe = transformers.pipeline("token-classification", "model", device="cpu")
with open("rows.jsonl", "w") as rows, open("expected.jsonl", "w") as expected:
    for text in ("anna lives in paris .", "who wrote it ?", "", "film " * 62):
        found = pipe(text)
        answer = {
            "words": [one["word"] for one in found],
            "scores": [float(one["score"]) for one in found],
            "starts": [one["start"] for one in found],
        }
        rows.write(json.dumps({"text": text}) + "\n")
        expected.write(json.dumps(answer) + "\n")
    rows.write(json.dumps({"text": "film " * 80 + "anna"}) + "\n")
    expected.write(json.dumps({"error": "whole wrong_value"}) + "\n")
