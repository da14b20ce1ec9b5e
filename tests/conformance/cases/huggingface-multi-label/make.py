"""A text may have several classes: each has a probability of its own, which do not sum to 1."""

import torch

from tests.support.conformance import write
from tests.support.transformers_models import CLASSES, Path, bert_classifier, bert_tokenizer

names, kind = dict(enumerate(CLASSES)), "multi_label_classification"
model = bert_classifier(Path("model"), seed=11, id2label=names, problem_type=kind)
tokenizer = bert_tokenizer()
texts = ["the film was good .", "awful", "this is about sport and politics", "anna lives in paris"]
with torch.no_grad():
    odds = [model(**tokenizer(text, return_tensors="pt")).logits[0].sigmoid().tolist() for text in texts]
ranked = [sorted(zip(one, CLASSES, strict=True), reverse=True) for one in odds]
write({"text": texts}, probabilities=odds, labels=[[name for _, name in one] for one in ranked])
