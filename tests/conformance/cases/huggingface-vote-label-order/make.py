"""Two classifiers whose configurations name the same classes in different orders."""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    BertTokenizerFast,
    TextClassificationPipeline,
)

from tests.support.conformance import write

words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "was", "good", "bad", "dull"]
texts = ["the film was good", "bad", "dull film", "the the good", "good bad dull"]
scores = []
for name, classes in (("a", ["positive", "negative", "neutral"]), ("b", ["neutral", "positive", "negative"])):
    torch.manual_seed(ord(name))
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=16,
        initializer_range=1.0,
        id2label=dict(enumerate(classes)),
        label2id={one: at for at, one in enumerate(classes)},
    )
    model = BertForSequenceClassification(config).eval()
    tokenizer = BertTokenizerFast(vocab={word: at for at, word in enumerate(words)}, model_max_length=16)
    model.save_pretrained(name)
    tokenizer.save_pretrained(name)
    pipe = TextClassificationPipeline(model=model, tokenizer=tokenizer, top_k=None)
    scores.append([{one["label"]: one["score"] for one in answer} for answer in pipe(texts)])
means = [{label: (a[label] + b[label]) / 2 for label in a} for a, b in zip(*scores, strict=True)]
best = [max(mean, key=mean.__getitem__) for mean in means]
write({"text": texts}, mood=best, confidence=[mean[one] for mean, one in zip(means, best, strict=True)])
