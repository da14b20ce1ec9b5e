"""A real server of language models, ``transformers serve``, asked by an ensemble."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_ensembles import Ensemble
from scripts.chat_server import serving_chat
from tests.support.tiny_language_model import train

MOODS = {"it broke": "bad", "all is well": "good", "no answer": "bad", "thank you": "good"}
ANSWERS = {ticket: json.dumps({"mood": mood, "words": len(ticket.split())}) for ticket, mood in MOODS.items()}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a server, and its model, which knows four answers by heart and says something else otherwise."""
    folder = tmp_path_factory.mktemp("model")
    train(folder, {**ANSWERS, "what is this?": "I do not know."})
    with serving_chat(folder) as url:
        yield url, folder


def ensemble(server: tuple[str, Path], **more: object) -> Ensemble:
    url, folder = server
    node = {
        "model": "chat",
        "url": url,
        "name": folder.name,
        "messages": [{"role": "user", "content": "{ticket}"}],
        "max_tokens": 60,
        "choices": {"mood": ["good", "bad"]},
        "inputs": ["ticket"],
        "outputs": {"mood": "string", "words": "int64"},
        **more,
    }
    return Ensemble.from_spec({"ensemble": "moods", "inputs": {"ticket": "string"}, "nodes": {"mood": node}})


def test_typed_answers_and_one_that_is_none(server: tuple[str, Path]) -> None:
    tickets = [*MOODS, "what is this?", *MOODS]
    scored, failed = ensemble(server).predict([{"ticket": ticket} for ticket in tickets], errors="split")
    assert [(row["mood"], row["words"]) for row in scored] == [
        (mood, len(ticket.split())) for ticket, mood in MOODS.items()
    ] * 2
    assert [(row["error_code"], row["error_node"]) for row in failed] == [("bad_output", "mood")]
    assert "I do not know." in failed[0]["error_msg"]


def test_a_text(server: tuple[str, Path]) -> None:
    found = ensemble(server, text=True, choices={}, outputs={"said": {}}).predict([{"ticket": "it broke"}])
    assert found[0]["said"] == ANSWERS["it broke"]


def test_a_vote_of_a_language_model_and_a_rule(server: tuple[str, Path]) -> None:
    url, folder = server
    chat = {
        "model": "chat", "url": url, "name": folder.name, "max_tokens": 60,
        "messages": [{"role": "user", "content": "{ticket}"}], "choices": {"mood": ["good", "bad"]},
        "inputs": ["ticket"], "outputs": {"mood": "string", "words": "int64"},
    }  # fmt: skip
    rule = {"apply": "sql", "select": {"rule": "CASE WHEN words > 2 THEN 'good' ELSE 'bad' END"}}
    nodes = {
        "chat": chat,
        "rule": {**rule, "inputs": ["words"], "outputs": {"rule": "string"}},
        "vote": {"combine": "agree", "inputs": ["mood", "rule"], "outputs": {"unanimous": "boolean"}},
    }
    spec = {"ensemble": "both", "inputs": {"ticket": "string"}, "nodes": nodes, "outputs": ["unanimous"]}
    scored = Ensemble.from_spec(spec).predict([{"ticket": ticket} for ticket in MOODS])
    assert [row["unanimous"] for row in scored] == [True, True, True, False]
