"""Zero-shot classifiers whose entailment is the last, the first, and one of two classes; each row may have its own."""

from transformers import pipeline

from tests.support.conformance import write
from tests.support.transformers_models import Path, bert_classifier

ORDERS = {
    "last": ("contradiction", "neutral", "entailment"),
    "first": ("entailment", "neutral", "contradiction"),
    "two": ("not_entailment", "entailment"),
}
models = {}
for seed, (name, classes) in enumerate(ORDERS.items()):
    names = dict(enumerate(classes))
    bert_classifier(Path(name), seed=seed, id2label=names, label2id={one: at for at, one in names.items()})
    models[name] = pipeline("zero-shot-classification", model=name)
texts = ["the film was good .", "awful", "this is about sport and politics", "anna lives in paris ?"]
choices = [["politics", "sport"], ["film"], ["red", "blue", "a dog"], ["paris", "us"]]
named = ["politics", "sport"]
last = [models["last"](text, named, hypothesis_template="the film is about {}.") for text in texts]
first = [models["first"](text, named, multi_label=True) for text in texts]
two = [models["two"](text, of) for text, of in zip(texts, choices, strict=True)]
write(
    {"text": texts, "choices": choices},
    last=[one["labels"][0] for one in last],
    last_scores=[one["scores"] for one in last],
    first=[one["labels"] for one in first],
    first_scores=[one["scores"] for one in first],
    two=[one["labels"] for one in two],
    two_scores=[one["scores"] for one in two],
)
