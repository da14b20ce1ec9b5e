"""Two classifiers whose configurations name the same classes in different orders."""

from transformers import TextClassificationPipeline

from tests.support.conformance import write
from tests.support.transformers_models import Path, bert_classifier, bert_tokenizer

texts = ["the film was good", "bad", "awful film", "the the good", "good bad awful"]
scores = []
for name, classes in (("a", ["positive", "negative", "neutral"]), ("b", ["neutral", "positive", "negative"])):
    places = {one: at for at, one in enumerate(classes)}
    model = bert_classifier(Path(name), seed=ord(name), id2label=dict(enumerate(classes)), label2id=places)
    pipe = TextClassificationPipeline(model=model, tokenizer=bert_tokenizer(), top_k=None)
    scores.append([{one["label"]: one["score"] for one in answer} for answer in pipe(texts)])
means = [{label: (a[label] + b[label]) / 2 for label in a} for a, b in zip(*scores, strict=True)]
best = [max(mean, key=mean.__getitem__) for mean in means]
write({"text": texts}, mood=best, confidence=[mean[one] for mean, one in zip(means, best, strict=True)])
