"""Processes that are forked, and what becomes of them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from beam_ensembles.handlers.column_pipe import ColumnPipe
from beam_ensembles.handlers.forking import CAN_FORK, HERE, ForkedProcess, OwnForkServer, own_environment
from tests.support import forked

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="processes are forked on Linux only")
_SECONDS = 60.0


@pytest.fixture(scope="module")
def server() -> Iterator[OwnForkServer]:
    started = OwnForkServer(forked.__name__)
    yield started
    started.stop()


def _start(server: OwnForkServer, *words: str, **variables: str) -> tuple[ForkedProcess, ColumnPipe]:
    ours, theirs = multiprocessing.Pipe()
    with theirs:
        process = server.start(forked.__name__, words, own_environment() | variables, theirs)
    assert process is not None
    return process, ColumnPipe(ours)


def _ask(pipe: ColumnPipe, *question: Any) -> Any:
    pipe.send(question)
    return pipe.recv()


def test_it_is_as_one_that_was_not_forked(server: OwnForkServer) -> None:
    _, pipe = _start(server, "a", "b", SOME_VARIABLE="c", OMP_NUM_THREADS="1")
    with pipe:
        found = _ask(pipe, "itself")
    assert (found["words"], found["environment"]["SOME_VARIABLE"]) == (["a", "b"], "c")
    assert (found["name"], found["leads"]) == ("forked", True)
    assert found["handles"] == signal.SIG_DFL
    assert set(found["threads"]) == {1}
    assert found["log_handlers"] == []


def test_each_draws_numbers_of_its_own(server: OwnForkServer) -> None:
    with contextlib.ExitStack() as pipes:
        two = [pipes.enter_context(_start(server)[1]) for _ in range(2)]
        drawn = {_ask(pipe, "itself")["draws"] for pipe in two}
    assert len(drawn) == 2


def test_its_end_is_told(server: OwnForkServer) -> None:
    (gone, closed), (failed, asked) = _start(server), _start(server)
    closed.close()
    assert gone.wait(_SECONDS) == 0
    asked.send(("end", 3))
    assert failed.wait(_SECONDS) == failed.poll() == 3


def test_it_goes_on_until_it_is_ended(server: OwnForkServer) -> None:
    (asked, one), (killed, other) = _start(server), _start(server)
    with one, other:
        for process, pipe in ((asked, one), (killed, other)):
            _ask(pipe, "itself")
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.01)
            assert process.poll() is None
        asked.terminate()
        assert asked.wait(_SECONDS) == -signal.SIGTERM
        killed.kill()
        assert killed.wait(_SECONDS) == -signal.SIGKILL
        killed.kill()  # its number is nobody's any more


def test_others_are_forked_from_it_too(server: OwnForkServer) -> None:
    _, pipe = _start(server)
    with pipe:
        parent = _ask(pipe, "itself")["parent"]
        found, code = _ask(pipe, "another", 1)
    assert (found["parent"], code) == (parent, 0)
    assert set(found["threads"]) == {1}


def test_this_process_was_not_forked() -> None:
    assert HERE.get() is None


def test_all_end_with_what_they_are_forked_from() -> None:
    server = OwnForkServer(forked.__name__)
    process, pipe = _start(server)
    with pipe:
        os.kill(_ask(pipe, "itself")["parent"], signal.SIGKILL)
    assert process.wait(_SECONDS) == -signal.SIGKILL
    assert server.start(forked.__name__, [], own_environment()) is None
    process.kill()
    server.stop()
