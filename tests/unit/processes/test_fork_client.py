"""Processes that are forked, and what becomes of them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.processes.column_pipe import ColumnPipe
from beam_ensembles.processes.fork_client import (
    CAN_FORK,
    HERE,
    ForkedProcess,
    OwnForkServer,
    own_environment,
)
from tests.support import forked
from tests.support.patience import SECONDS

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="processes are forked on Linux only")
_FILES = 24


@pytest.fixture(scope="module")
def server() -> Iterator[OwnForkServer]:
    started = OwnForkServer(forked.__name__)
    yield started
    started.stop()


@pytest.fixture
def server_with_few_files() -> Iterator[OwnForkServer]:
    started = OwnForkServer(forked.__name__)
    parent = _ask_one(started)["parent"]
    resource.prlimit(parent, resource.RLIMIT_NOFILE, (_FILES, _FILES))
    yield started
    started.stop()


def _try_to_start(
    server: OwnForkServer, *words: str, **variables: str
) -> tuple[ForkedProcess, ColumnPipe] | None:
    ours, theirs = multiprocessing.Pipe()
    with theirs:
        process = server.start(forked.__name__, words, own_environment() | variables, theirs)
    return None if process is None else (process, ColumnPipe(ours))


def _start(server: OwnForkServer, *words: str, **variables: str) -> tuple[ForkedProcess, ColumnPipe]:
    started = _try_to_start(server, *words, **variables)
    assert started is not None
    return started


def _ask_one(server: OwnForkServer) -> dict[str, Any]:
    _, pipe = _start(server)
    with pipe:
        found: dict[str, Any] = _ask(pipe, "itself")
        return found


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
    assert found["reads"] == ""


def test_each_draws_numbers_of_its_own(server: OwnForkServer) -> None:
    with contextlib.ExitStack() as pipes:
        two = [pipes.enter_context(_start(server)[1]) for _ in range(2)]
        drawn = {_ask(pipe, "itself")["draws"] for pipe in two}
    assert len(drawn) == 2


def test_its_end_is_told(server: OwnForkServer) -> None:
    (gone, closed), (failed, asked) = _start(server), _start(server)
    closed.close()
    assert gone.wait(SECONDS) == 0
    asked.send(("end", 3))
    assert failed.wait(SECONDS) == failed.poll() == 3


def test_it_goes_on_until_it_is_ended(server: OwnForkServer) -> None:
    (asked, one), (killed, other) = _start(server), _start(server)
    with one, other:
        for process, pipe in ((asked, one), (killed, other)):
            _ask(pipe, "itself")
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.01)
            assert process.poll() is None
        asked.terminate()
        assert asked.wait(SECONDS) == -signal.SIGTERM
        killed.kill()
        assert killed.wait(SECONDS) == -signal.SIGKILL
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


def test_it_finds_the_modules_that_who_asks_for_it_finds(server: OwnForkServer, tmp_path: Path) -> None:
    (tmp_path / "only_here.py").touch()
    path = os.pathsep.join([str(tmp_path), own_environment()["PYTHONPATH"]])
    for variables, there in (({"PYTHONPATH": path}, True), ({}, False)):
        _, pipe = _start(server, **variables)
        with pipe:
            assert _ask(pipe, "finds", "only_here") == there


def test_it_uses_the_cores_that_it_is_given(server: OwnForkServer) -> None:
    _, pipe = _start(server)
    with pipe:
        assert [_ask(pipe, "another", cores)[0]["cores"] for cores in (1, 3)] == [1, 3]


def test_a_fork_server_without_files_left_goes_on(server_with_few_files: OwnForkServer) -> None:
    server = server_with_few_files
    with contextlib.ExitStack() as pipes:
        started = []
        while (one := _try_to_start(server)) is not None:
            started.append(one[0])
            pipes.enter_context(one[1])
            assert len(started) < _FILES
        assert started
        assert [process.poll() for process in started] == [None] * len(started)
        started[0].kill()
        started[0].wait(SECONDS)
    assert _ask_one(server)["leads"]


def test_all_end_with_what_they_are_forked_from(caplog: pytest.LogCaptureFixture) -> None:
    server = OwnForkServer(forked.__name__)
    process, pipe = _start(server)
    assert not server.is_gone
    with pipe:
        os.kill(_ask(pipe, "itself")["parent"], signal.SIGKILL)
    assert process.wait(SECONDS) == -signal.SIGKILL
    assert server.start(forked.__name__, [], own_environment()) is None
    process.kill()
    assert server.is_gone
    assert "the process that workers are forked from ended with exit code -9" in caplog.text
    server.stop()
