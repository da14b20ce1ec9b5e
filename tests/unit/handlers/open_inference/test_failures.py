"""Servers that are away, slow, full or of another opinion, and what becomes of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from beam_ensembles.errors import BatchFailed
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.graph.kinds import Member
from beam_ensembles.handlers.support import retrying
from tests.support.nodes import load_node
from tests.support.open_inference import FakeServer, Model, Refusal, Tensors, served
from tests.support.patience import wait_until
from tests.unit.handlers.open_inference.conftest import MODELS, picky

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
PASSING = (UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.DEADLINE_EXCEEDED)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_WAIT", 0.01)


def loaded(server: FakeServer, model: str = "picky", **more: Any) -> Member:
    node = {"model": "open_inference", "uri": server.uri(model), "inputs": ["x"], "outputs": {"y": "double"}}
    # Beam holds calls back for whole seconds while many fail; it looks back one millisecond only here.
    config = {"window_ms": 1, "bucket_ms": 1}
    return load_node(Path("/"), {"x": "double"}, node | {"config": config} | more)


def numbers(count: int, *bad: int) -> dict[str, Any]:
    x = np.arange(1.0, count + 1)
    x[list(bad)] *= -1
    return {"x": x}


def test_a_row_that_the_server_refuses_is_found_and_the_others_go_on(server: FakeServer) -> None:
    outputs, faults = run_split(loaded(server), numbers(1000, 3, 700), 1000)
    assert {at: (error.code, error.message.rpartition(": ")[2]) for at, error in faults.items()} == {
        3: ("model_error", "a negative number"),
        700: ("model_error", "a negative number"),
    }
    assert outputs["y"].tolist() == [2.0 * value for value in range(1, 1001) if value not in (4, 701)]
    assert len(server.calls) < 50


def test_what_may_pass_is_tried_again(server: FakeServer) -> None:
    server.refusals[:] = PASSING
    assert loaded(server, retries=3)(numbers(2))["y"].tolist() == [2, 4]
    assert len(server.calls) == 4


@pytest.mark.parametrize("status", PASSING)
def test_what_does_not_pass_fails_the_batch_at_once(server: FakeServer, status: grpc.StatusCode) -> None:
    server.refusals[:] = [status] * 100
    outputs, faults = run_split(loaded(server, retries=2), numbers(10_000), 10_000)
    assert len(server.calls) == 3
    assert (outputs, len(faults)) == ({}, 10_000)
    assert {(type(error), error.code) for error in faults.values()} == {(BatchFailed, "server_unreachable")}
    assert status.name in faults[0].message
    assert f"localhost:{server.port}" in faults[0].message


@pytest.mark.parametrize(
    "status", [grpc.StatusCode.NOT_FOUND, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.UNAUTHENTICATED]
)
def test_what_every_call_would_get_is_neither_tried_again_nor_split(
    server: FakeServer, status: grpc.StatusCode
) -> None:
    server.refusals[:] = [status] * 100
    _, faults = run_split(loaded(server), numbers(100), 100)
    assert len(server.calls) == 1
    assert {error.code for error in faults.values()} == {"server_refused"}


@pytest.mark.parametrize("status", [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.INTERNAL])
def test_other_failures_are_not_tried_again(server: FakeServer, status: grpc.StatusCode) -> None:
    server.refusals[:] = [status]
    with pytest.raises(Exception, match=status.name):
        loaded(server)(numbers(1))
    assert len(server.calls) == 1


def test_a_call_takes_no_longer_than_it_may(server: FakeServer) -> None:
    server.answers.clear()
    _, faults = run_split(loaded(server, timeout=0.2, retries=1), numbers(100), 100)
    assert len(server.calls) <= 2
    assert {error.code for error in faults.values()} == {"server_unreachable"}
    assert "DEADLINE_EXCEEDED" in faults[0].message


def test_a_batch_that_is_too_large_for_the_server_is_split() -> None:
    limited = [("grpc.max_receive_message_length", 1_000)]
    with served(MODELS, options=limited) as server:
        outputs, faults = run_split(loaded(server, retries=5), numbers(400), 400)
    assert faults == {}
    assert outputs["y"].tolist() == [2.0 * value for value in range(1, 401)]
    assert max(len(call) for call in server.calls) == 100


def test_a_server_that_comes_back_is_used_again() -> None:
    with served(MODELS) as first:
        member = loaded(first, retries=0)
        assert member(numbers(1))["y"].tolist() == [2]
    _, faults = run_split(member, numbers(100), 100)
    assert {error.code for error in faults.values()} == {"server_unreachable"}
    with served(MODELS, port=first.port):
        _wait_until_used(member)


def test_a_server_may_come_up_after_the_worker() -> None:
    with served(MODELS) as first:
        pass
    member = loaded(first, retries=0)
    _, faults = run_split(member, numbers(100), 100)
    assert {error.code for error in faults.values()} == {"server_unreachable"}
    with served(MODELS, port=first.port) as second:
        _wait_until_used(member)
        assert second.asked == 1


def test_a_model_that_is_not_as_declared_fails_the_batch_when_it_is_first_seen() -> None:
    with served(MODELS) as first:
        pass
    member = loaded(first, "picky", retries=0)
    other = Model(picky, [("x", "BYTES", [-1])], [("y", "FP64", [-1])])
    with served({"picky": other}, port=first.port):
        _, faults = run_split(member, numbers(100), 100)
    assert {error.code for error in faults.values()} == {"signature_mismatch"}


def test_a_server_that_dies_in_the_middle_of_a_search_ends_it() -> None:
    seen: list[int] = []

    def dies(given: Tensors) -> Tensors:
        seen.append(len(given["x"]))
        if len(seen) > 3:
            raise Refusal(UNAVAILABLE)
        return picky(given)

    dying = Model(dies, [("x", "FP64", [-1])], [("y", "FP64", [-1])])
    with served({"picky": dying}) as server:
        outputs, faults = run_split(loaded(server, retries=1), numbers(8, 7), 8)
    assert seen == [8, 4, 4, 2, 2]
    assert outputs["y"].tolist() == [2, 4, 6, 8]
    assert sorted(faults) == [4, 5, 6, 7]


def _wait_until_used(member: Member) -> None:
    """The channel looks for its server once a second at least."""
    wait_until(lambda: run_split(member, numbers(1), 1)[0], "the server is called again")
