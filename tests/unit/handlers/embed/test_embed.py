"""Nodes of vectors: their checks, the requests they make, and what becomes of each kind of answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beam_ensembles.errors import BatchFailed, NodeError, SomeFailed
from beam_ensembles.execution.answer_cache import cache_of
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.files.ensemble_files import ANYTHING, Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode, Columns
from beam_ensembles.handlers.support.call_counts import counting
from beam_ensembles.registry import KINDS
from tests.support.chat_server import ChatServer, Reply, chat_server
from tests.support.nodes import problems_of, types_of

HERE = Path(__file__).parent
INPUTS = {"ticket": "string", "stars": "double"}


def node(url: str = "https://localhost/v1", **more: Any) -> dict[str, Any]:
    return {
        "model": "embed",
        "url": url,
        "name": "small",
        "inputs": ["ticket"],
        "outputs": {"vector": "array<float>[2]"},
        "retries": 0,
        **more,
    }


def checked(server: ChatServer, folder: Path = HERE, **more: Any) -> CheckedNode:
    data = {"ensemble": "test", "inputs": INPUTS, "nodes": {"node": node(server.url, **more)}}
    files = Files(str(folder), (str(folder),), hosts=ANYTHING, is_own=True)
    return check_text(json.dumps(data), KINDS, files).nodes[0]


def loaded(server: ChatServer, **more: Any) -> Callable[[Columns], Columns]:
    found = checked(server, **more)
    return found.kind.load(found)


def tickets(*texts: str) -> Columns:
    return {"ticket": np.array(texts, object)}


def vectors(request: Mapping[str, Any], turned: bool = True) -> Reply:
    """The length of each text and 0.5; the last one first."""
    data = [
        {"object": "embedding", "index": at, "embedding": [len(text), 0.5]}
        for at, text in enumerate(request["input"])
    ]
    usage = {"prompt_tokens": 3 * len(data), "total_tokens": 3 * len(data)}
    found = {"object": "list", "data": data[::-1] if turned else data, "model": "m", "usage": usage}
    return Reply(body=json.dumps(found).encode())


def test_texts_are_sent_together_and_vectors_are_in_order() -> None:
    with chat_server(vectors) as server, counting() as counts:
        found = loaded(server, together=3, dimensions=2, inference_args={"user": "me"})(
            tickets("a", "bb", "a", "cccc", "ddddd")
        )
    assert found["vector"].tolist() == [[1, 0.5], [2, 0.5], [1, 0.5], [4, 0.5], [5, 0.5]]
    assert found["vector"].dtype == np.float32
    assert sorted(request["input"] for request in server.requests) == [["a", "bb", "cccc"], ["ddddd"]]
    sent = server.requests[0]
    assert (sent["model"], sent["dimensions"], sent["encoding_format"], sent["user"]) == (
        "small",
        2,
        "float",
        "me",
    )
    assert counts.counters == {"calls": 2, "tokens_in": 12, "shared_rows": 1}


def test_vectors_of_any_length() -> None:
    with chat_server(vectors) as server:
        found = loaded(server, outputs={"vector": "array<double>"})(tickets("a"))
    assert found["vector"].tolist() == [[1.0, 0.5]]


def test_a_text_that_the_server_refuses_fails_alone() -> None:
    def answer(request: Mapping[str, Any]) -> Reply:
        return Reply("too long", status=400) if "bad" in request["input"] else vectors(request)

    with chat_server(answer) as server, pytest.raises(SomeFailed) as caught:
        loaded(server)(tickets("a", "bad", "ccc", "dddd"))
    ((at, error),) = caught.value.faults.items()
    assert (at, error.code) == (1, "model_error")
    assert caught.value.columns["vector"][:, 0].tolist() == [1, 3, 4]


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [{"index": 1, "embedding": [1, 2]}],
        [{"index": 0}],
        [{"index": 0, "embedding": [1, 2, 3]}],
        [{"index": 0, "embedding": [1, None]}],
        [{"index": 0, "embedding": "AAAA"}],
        [{"index": 0, "embedding": [[1, 2]]}],
        [{"index": 0, "embedding": [1e999, 2]}],
    ],
)
def test_an_answer_that_is_not_a_vector(data: Any) -> None:
    with chat_server(lambda _: Reply(body=json.dumps({"data": data}).encode())) as server:
        run = loaded(server)
        with pytest.raises(NodeError) as caught:
            run(tickets("a"))
    assert caught.value.code == "bad_output"
    assert not isinstance(caught.value, BatchFailed)


def test_a_server_that_is_down() -> None:
    with chat_server(vectors) as server:
        run = loaded(server)
    with pytest.raises(BatchFailed) as caught:
        run(tickets("a", "b"))
    assert caught.value.code == "server_unreachable"


def test_vectors_are_kept(tmp_path: Path) -> None:
    with chat_server(vectors) as server:
        found = checked(server, tmp_path, cache={"uri": "sqlite:///kept.db"})
        member, cache = found.kind.load(found), cache_of(found)
        assert cache is not None
        for _ in range(2):
            columns, faults = cache.answer(member, tickets("a", "bb"), run_split)
            cache.store.flush()
            assert not faults
            assert columns["vector"].tolist() == [[1, 0.5], [2, 0.5]]
            assert columns["vector"].dtype == np.float32
        cache.store.close()
    assert len(server.requests) == 1


def test_types() -> None:
    assert types_of(HERE, INPUTS, node(outputs={"v": {}}, dimensions=7)) == {"v": "array<float>[7]"}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"inputs": ["ticket", "stars"]}, ("bad_value", "inputs")),
        ({"inputs": ["stars"]}, ("type_mismatch", "inputs[0]")),
        ({"outputs": {"v": "string"}}, ("type_mismatch", "outputs.v")),
        ({"outputs": {"v": "array<int32>[2]"}}, ("type_mismatch", "outputs.v")),
        ({"outputs": {"v": "array<float>[2]", "w": "array<float>[2]"}}, ("bad_value", "outputs")),
        ({"outputs": {"v": {}}}, ("missing_type", "outputs.v")),
        ({"dimensions": 3}, ("type_mismatch", "outputs.vector")),
        ({"inference_args": {"input": "x"}}, ("unsupported_option", "inference_args.input")),
        ({"url": "https://elsewhere.example.com/v1"}, ("untrusted_host", "url")),
        ({"api_key": "plain"}, ("bad_value", "api_key")),
    ],
)
def test_mistakes(more: dict[str, Any], problem: tuple[str, str]) -> None:
    assert problem in problems_of(HERE, INPUTS, node(**more))
