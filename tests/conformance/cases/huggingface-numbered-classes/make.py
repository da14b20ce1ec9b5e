"""A model whose classes have no names, as they are saved by default; the node names them in order."""

import torch

from tests.support.conformance import write
from tests.support.transformers_models import CLASSES, Path, bert_classifier, bert_tokenizer

model = bert_classifier(Path("model"), seed=5, num_labels=3)
tokenizer = bert_tokenizer()
texts = ["the film was good .", "awful", "this is about sport and politics", "anna lives in paris"]
with torch.no_grad():
    odds = [model(**tokenizer(text, return_tensors="pt")).logits[0].softmax(0) for text in texts]
write({"text": texts}, label=[CLASSES[int(one.argmax())] for one in odds], probabilities=odds)
