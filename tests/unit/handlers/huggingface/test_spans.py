"""Answers in texts: the token that stands for no answer takes part only where the tokenizer has one."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers

from tests.support.media import objects
from tests.support.nodes import load_node
from tests.support.transformers_models import word_tokenizer
from tests.unit.handlers.huggingface.test_tasks import node_of


def test_a_question_token_takes_no_part_in_the_score(tmp_path: Path) -> None:
    tokenizer = word_tokenizer({"unk_token": "<unk>", "eos_token": "<end>", "pad_token": "<pad>"})
    torch.manual_seed(7)
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=1, n_head=2, n_positions=64, initializer_range=0.5
    )
    model = transformers.GPT2ForQuestionAnswering(config).eval()
    model.save_pretrained(tmp_path / "gpt2")
    tokenizer.save_pretrained(tmp_path / "gpt2")
    question, text = "who lives in paris ?", "anna lives in paris and the dog"
    node = node_of("gpt2", "question-answering", ["question", "context"], ["score"])
    types = {"question_in": "string", "context_in": "string"}
    found = load_node(tmp_path, types, node)({"question_in": objects(question), "context_in": objects(text)})

    encoded = tokenizer(question, text, return_tensors="pt")
    at = torch.tensor([part == 1 for part in encoded.sequence_ids(0)])
    with torch.no_grad():
        answer = model(**encoded)
    first, last = (one[0].double()[at].softmax(0) for one in (answer.start_logits, answer.end_logits))
    assert found["score"][0] == pytest.approx(float(torch.outer(first, last).triu().tril(14).max()), rel=1e-4)
