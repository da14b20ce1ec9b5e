"""A model whose classes have no names, as they are saved by default; the node names them in order."""

import json

import torch
import transformers

from tests.support.transformers_models import CLASSES, WORDS, bert_tokenizer

torch.manual_seed(5)
config = transformers.BertConfig(
    hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32, vocab_size=len(WORDS),
    max_position_embeddings=64, initializer_range=0.5, num_labels=3,
)  # fmt: skip
model = transformers.BertForSequenceClassification(config).eval()
model.save_pretrained("model")
tokenizer = bert_tokenizer()
tokenizer.save_pretrained("model")
with open("rows.jsonl", "w") as rows, open("expected.jsonl", "w") as expected:
    for text in ("the film was good .", "awful", "this is about sport and politics", "anna lives in paris"):
        with torch.no_grad():
            odds = model(**tokenizer(text, return_tensors="pt")).logits[0].softmax(0)
        rows.write(json.dumps({"text": text}) + "\n")
        expected.write(
            json.dumps({"label": CLASSES[int(odds.argmax())], "probabilities": odds.tolist()}) + "\n"
        )
