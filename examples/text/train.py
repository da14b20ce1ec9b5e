"""Trains the tiny models of text.yaml on made reviews, and writes others to enrich, with what is right about them.

``models/category`` is a BERT that says whether a sentence follows from a text, as zero-shot classification asks it;
``models/sentiment`` is a DistilBERT; ``models/writer`` a T5 that summarizes and translates, as its prefix tells it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import string
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
import transformers
from texts import MOODS, TOPICS, Review, reviews  # type: ignore[import-not-found]

HERE = Path(__file__).resolve().parent
ROWS = Path("build", "examples", "text", "rows.jsonl")
SEED = 7
LEARNED, HELD_OUT = 4000, 80
BATCH = 32
ABOUT = "This text is about {}."
SUMMARIZE, TRANSLATE = "summarize: ", "translate English to French: "
ODD = ("", "☕👍👍", 'Ça n\'était pas prévu. "Really?"', "The room was poor. " * 50)
"""Texts that nobody wrote for these models; what is said of them is arbitrary, but the same in every language."""

Batch = Callable[[list[Review]], Mapping[str, Any]]


def fit(model: Any, batch: Batch, known: list[Review], steps: int, rate: float) -> Any:
    """Shows a model random batches of reviews; gives it, ready for use."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps)
    model.train()
    for _ in range(steps):
        loss = model(**batch([known[at] for at in torch.randint(len(known), (BATCH,))])).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


def words(texts: Iterable[str]) -> list[str]:
    """Returns the words and signs of texts."""
    return sorted({word for text in texts for word in re.findall(r"[^\s.,:]+|[.,:]", text)})


def reader(kind: Any, known: list[Review]) -> Any:
    """Creates a tokenizer of BERT's kind, which knows the words of the reviews and spells all others."""
    letters = [*string.ascii_lowercase, *string.digits]
    texts = [*(review.text for review in known), *(ABOUT.format(topic) for topic in TOPICS)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words(map(str.lower, texts)), *letters]
    pieces += [f"##{letter}" for letter in letters]
    return kind(vocab={piece: at for at, piece in enumerate(dict.fromkeys(pieces))}, model_max_length=128)


def tiny(classes: Iterable[str], vocabulary: int) -> dict[str, Any]:
    """Returns what a tiny classifier's configuration has beside its size: it learns with large first weights."""
    names = dict(enumerate(classes))
    return {
        "id2label": names,
        "label2id": {name: at for at, name in names.items()},
        "vocab_size": vocabulary,
        "max_position_embeddings": 128,
        "initializer_range": 0.2,
    }


def category(known: list[Review]) -> tuple[Any, Any]:
    """Trains a model that says whether a text is about a topic."""
    tokenizer = reader(transformers.BertTokenizer, known)
    config = transformers.BertConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        **tiny(("entailment", "contradiction"), len(tokenizer)),
    )  # fmt: skip

    def batch(drawn: list[Review]) -> Mapping[str, Any]:
        pairs = [(review, topic) for review in drawn[:: len(TOPICS)] for topic in TOPICS]
        texts, asked = [review.text for review, _ in pairs], [ABOUT.format(topic) for _, topic in pairs]
        encoded = tokenizer(texts, asked, padding=True, return_tensors="pt")
        return {**encoded, "labels": torch.tensor([int(topic != review.category) for review, topic in pairs])}

    return fit(transformers.BertForSequenceClassification(config), batch, known, 250, 2e-3), tokenizer


def sentiment(known: list[Review]) -> tuple[Any, Any]:
    """Trains a model that knows moods."""
    tokenizer = reader(transformers.DistilBertTokenizer, known)
    config = transformers.DistilBertConfig(
        dim=64, n_layers=2, n_heads=4, hidden_dim=128, dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0,
        **tiny(MOODS, len(tokenizer)),
    )  # fmt: skip

    def batch(drawn: list[Review]) -> Mapping[str, Any]:
        encoded = tokenizer([review.text for review in drawn], padding=True, return_tensors="pt")
        return {**encoded, "labels": torch.tensor([MOODS.index(review.sentiment) for review in drawn])}

    return fit(transformers.DistilBertForSequenceClassification(config), batch, known, 250, 2e-3), tokenizer


def writer(known: list[Review]) -> tuple[Any, Any]:
    """Trains a model that writes summaries and translations; as T5, it says in its configuration how it is asked."""
    asked = [text for review in known for text in (review.text, review.summary, review.french)]
    whole = [f"▁{word}" for word in words([*asked, SUMMARIZE, TRANSLATE])]
    signs = ["▁", *string.ascii_letters, *string.digits, *".,:'-"]
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    vocabulary = [*special, *((piece, -1.0) for piece in whole), *((piece, -9.0) for piece in signs)]
    tokenizer = transformers.T5Tokenizer(vocab=vocabulary, extra_ids=0, model_max_length=512)
    asked_by: dict[str, Any] = {
        "summarization": {"prefix": SUMMARIZE, "max_new_tokens": 40},
        "translation_en_to_fr": {"prefix": TRANSLATE, "max_new_tokens": 40},
    }
    own: dict[str, Any] = {"decoder_start_token_id": 0, "task_specific_params": asked_by}
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=64, d_kv=16, d_ff=128, num_layers=2, num_decoder_layers=1, num_heads=4,
        dropout_rate=0.0, **own,
    )  # fmt: skip

    def batch(drawn: list[Review]) -> Mapping[str, Any]:
        some = 3 * len(drawn) // 8  # summaries are learned faster
        pairs = [(SUMMARIZE + review.text, review.summary) for review in drawn[:some]]
        pairs += [(TRANSLATE + review.text, review.french) for review in drawn[some:]]
        texts, wanted = zip(*pairs, strict=True)
        encoded = tokenizer(list(texts), padding=True, return_tensors="pt")
        labels = tokenizer(list(wanted), padding=True, return_tensors="pt").input_ids
        return {**encoded, "labels": labels.masked_fill(labels == tokenizer.pad_token_id, -100)}

    return fit(transformers.T5ForConditionalGeneration(config), batch, known, 1400, 6e-3), tokenizer


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes rows as JSON lines and, for Beam YAML, as Parquet."""
    table = list(rows)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in table), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(table), path.with_suffix(".parquet"))


def main() -> None:
    """Trains, saves, and writes the texts and, beside them, what is right about them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models", type=Path, default=HERE / "models", help="folder of the models (%(default)s)"
    )
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the texts to enrich (%(default)s)")
    flags = parser.parse_args()
    torch.set_num_threads(1)  # the same models on any number of cores; more make such small ones no faster
    drawn = list(dict.fromkeys(itertools.islice(reviews(SEED), 2 * LEARNED)))
    known, held_out = drawn[:LEARNED], drawn[LEARNED : LEARNED + HELD_OUT]
    for train in (category, sentiment, writer):
        start = time.monotonic()
        torch.manual_seed(SEED)
        for part in train(known):
            part.save_pretrained(flags.models / train.__name__)
        print(f"{train.__name__:10} trained in {time.monotonic() - start:.1f} s")

    flags.rows.parent.mkdir(parents=True, exist_ok=True)
    texts = [*(review.text for review in held_out), *ODD]
    write(flags.rows, ({"id": at, "text": text} for at, text in enumerate(texts)))
    right = (review._asdict() for review in held_out)
    write(flags.rows.with_name("right.jsonl"), ({"id": at, **facts} for at, facts in enumerate(right)))


if __name__ == "__main__":
    main()
