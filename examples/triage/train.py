"""Trains the models of triage.yaml on made tickets, and writes others to sort, with the right answers for each.

``models/classifier.joblib`` is a logistic regression of words, ``models/language.joblib`` one of letters, and
``models/reader`` a tiny language model that knows two prompts and writes JSON, for ``transformers serve``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import joblib
import pyarrow as pa
import pyarrow.parquet as pq
import tokenizers
import torch
import transformers
import yaml
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tickets import Ticket, tickets  # type: ignore[import-not-found]

HERE = Path(__file__).resolve().parent
ROWS = Path("build", "examples", "triage", "rows.jsonl")
SEED = 11
KNOWN, HELD_OUT, LABELLED = 4_000, 120, 240
STEPS, BATCH, RATE = 450, 24, 5e-3
CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<assistant>"
"""How the server puts the messages together."""
MARKS = ("<end>", "<system>", "<user>", "<assistant>")
PIECES = ('{"category": "', '", "urgency": ', ', "product": ', ', "summary": "', '"}')
"""One token each, so that answers are short."""


def prompts() -> list[str]:
    """Returns what the two nodes tell the language model, by their file."""
    nodes = yaml.safe_load((HERE / "triage.yaml").read_text(encoding="utf-8"))["nodes"]
    return [nodes[name]["messages"][0]["content"] for name in ("reader", "second")]


def answers(ticket: Ticket) -> list[str]:
    """Returns the right answer to each prompt."""
    facts = {name: getattr(ticket, name) for name in ("category", "urgency", "product", "summary")}
    return [json.dumps(facts), json.dumps({"category": ticket.category})]


def save_classifiers(known: list[Ticket], folder: Path) -> None:
    """Trains the two models that answer for all tickets."""
    texts = [ticket.ticket for ticket in known]
    words = make_pipeline(TfidfVectorizer(), LogisticRegression(C=3.0))
    letters = make_pipeline(TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 2)), LogisticRegression())
    joblib.dump(words.fit(texts, [ticket.category for ticket in known]), folder / "classifier.joblib")
    joblib.dump(letters.fit(texts, [ticket.language for ticket in known]), folder / "language.joblib")


def tokenizer_of(texts: Iterable[str]) -> Any:
    """Trains a tokenizer that has a token for most words of some texts, and one for each piece of an answer."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=1_200, special_tokens=list(MARKS), show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([tokenizers.AddedToken(piece, normalized=False) for piece in PIECES])
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=MARKS[0], eos_token=MARKS[0], pad_token=MARKS[0]
    )
    fast.chat_template = CHAT
    return fast


def save_reader(known: list[Ticket], folder: Path) -> None:
    """Trains a language model to answer both prompts about any of these tickets."""
    asked = prompts()
    tokenizer = tokenizer_of([*asked, *(text for one in known for text in (one.ticket, *answers(one)))])
    pairs = [
        (f"<system>{prompt}<user>{ticket.ticket}<assistant>", f"{answer}{MARKS[0]}")
        for ticket in known
        for prompt, answer in zip(asked, answers(ticket), strict=True)
    ]
    questions, wanted = (tokenizer(list(texts)).input_ids for texts in zip(*pairs, strict=True))
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=256, bos_token_id=0, eos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    model: Any = transformers.LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)
    for _ in range(STEPS):
        drawn = torch.randint(len(pairs), (BATCH,)).tolist()
        loss: Any = loss_of(model, [questions[at] for at in drawn], [wanted[at] for at in drawn])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    model.eval()
    model.generation_config.do_sample = False
    for part in (model, tokenizer):
        part.save_pretrained(folder)


def loss_of(model: Any, questions: list[list[int]], wanted: list[list[int]]) -> torch.Tensor:
    """Returns the loss of a batch; all rows end together, so that only their last tokens are looked at."""
    rows = [[*question, *answer] for question, answer in zip(questions, wanted, strict=True)]
    longest, answer = max(map(len, rows)), max(map(len, wanted))
    inputs = torch.zeros((len(rows), longest), dtype=torch.long)
    mask, labels = torch.zeros_like(inputs), torch.full((len(rows), answer), -100)
    for at, row in enumerate(rows):
        inputs[at, -len(row) :] = torch.tensor(row)
        mask[at, -len(row) :] = 1
        labels[at, -len(wanted[at]) :] = torch.tensor(wanted[at])
    said = model(input_ids=inputs, attention_mask=mask, logits_to_keep=answer + 1).logits[:, :-1]
    return torch.nn.functional.cross_entropy(said.flatten(0, 1), labels.flatten())


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes rows as JSON lines and, for Beam YAML, as Parquet."""
    table = list(rows)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in table), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(table), path.with_suffix(".parquet"))


def main() -> None:
    """Trains, saves, and writes tickets that no model has seen: some to sort, others to certify the cut-off with."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--models", type=Path, default=HERE / "models", help="folder of the models (%(default)s)"
    )
    parser.add_argument("--rows", type=Path, default=ROWS, help="file of the tickets to sort (%(default)s)")
    flags = parser.parse_args()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)  # the same models on any number of cores; more make such small ones no faster
    drawn = list(itertools.islice(tickets(SEED), KNOWN + HELD_OUT + LABELLED))
    known, others = drawn[:KNOWN], drawn[KNOWN:]
    flags.models.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    save_classifiers(known, flags.models)
    save_reader(known, flags.models / "reader")
    print(f"trained in {time.monotonic() - start:.0f} s")

    flags.rows.parent.mkdir(parents=True, exist_ok=True)
    write(flags.rows, ({"id": at, "ticket": one.ticket} for at, one in enumerate(others[:HELD_OUT])))
    right = [{"id": at, **one._asdict()} for at, one in enumerate(others)]
    write(flags.rows.with_name("right.jsonl"), right[:HELD_OUT])
    labelled = [{name: one[name] for name in ("id", "ticket", "category")} for one in right[HELD_OUT:]]
    write(flags.rows.with_name("labelled.jsonl"), labelled)


if __name__ == "__main__":
    main()
