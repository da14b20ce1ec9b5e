"""Models that the workers of a machine share: one copy for all, found by nobody else, there as long as one needs it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from beam_ensembles.errors import BatchFailed, EnsembleError, NodeError
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode, Columns, Member
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.registry import KINDS
from tests.support.nodes import check_node
from tests.support.patience import wait_until

PAIR = {"x": "array<float>[2]"}
DOUBLE = {"model": "onnx", "uri": "double.onnx", "inputs": ["x"], "outputs": {"y": None}}
HERE = "tests.support.model_handlers"
ONES = {"x": np.ones((1, 2), np.float32)}


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], list[Path]]]:
    """The sockets of this test's shared models."""
    folder = tempfile.mkdtemp(prefix="shared-", dir="/tmp")
    monkeypatch.setattr("tempfile.tempdir", folder)
    yield lambda: [path for path in Path(folder).glob("*/*") if path.is_socket()]
    shutil.rmtree(folder)


def graph(folder: Path, **config: object) -> CheckedNode:
    return check_node(folder, PAIR, DOUBLE | {"config": config or {"large_model": True}})


def echo(handler: str = "Echo", **config: object) -> Member:
    """A node that says which process scored it."""
    described: dict[str, object] = {"model": "python", "handler": f"{HERE}.{handler}"}
    described |= {"inputs": ["x"], "outputs": {"pid": "int64"}}
    text = json.dumps(
        {"ensemble": "e", "inputs": {"x": "string"}, "nodes": {"n": described | {"config": config}}}
    )
    (node,) = check_text(text, KINDS, Files(code=(f"{HERE}.*",))).nodes
    return load_member(node, this_machine())


def pid_of(member: Member) -> int:
    return int(member({"x": np.array(["a"], object)})["pid"][0])


def _code_of(member: Member, columns: Columns) -> str:
    try:
        member(columns)
    except NodeError as error:
        return error.code
    return ""


def test_copies_run_in_processes_of_their_own(onnx_models: Path, sockets: Callable[[], list[Path]]) -> None:
    checked = graph(onnx_models, large_model=True, model_copies=2)
    member = load_member(checked, this_machine())
    for value in (1, 2, 3):
        assert member({"x": np.full((1, 2), value, np.float32)})["y"].tolist() == [[2 * value, 2 * value]]
    assert len(sockets()) == 2
    again = load_member(checked, this_machine())
    assert again(ONES)["y"].tolist() == [[2, 2]]
    assert len(sockets()) == 2
    assert _code_of(member, {"x": np.ones((1, 3), np.float32)}) == "model_error"
    del member
    assert again(ONES)["y"].tolist() == [[2, 2]]
    del again
    wait_until(lambda: not sockets())


def test_a_copy_that_cannot_be_loaded_says_why(onnx_models: Path, sockets: Callable[[], list[Path]]) -> None:
    wrong = graph(onnx_models, model_copies=1, providers=["DmlExecutionProvider"])
    with pytest.raises(EnsembleError, match=r"onnxruntime has no provider 'DmlExecutionProvider'"):
        load_member(wrong, this_machine())
    assert not sockets()


def test_workers_share_it_and_it_lives_as_long_as_one_of_them(sockets: Callable[[], list[Path]]) -> None:
    code = (
        "import sys, tempfile; tempfile.tempdir = sys.argv[1]\n"  # a script without __main__, run once
        "from tests.unit.handlers.support.test_shared_members import echo, pid_of\n"
        "member = echo(large_model=True); print(pid_of(member), flush=True); sys.stdin.read()\n"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", code, tempfile.gettempdir()],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    with first:
        assert first.stdout is not None
        started = int(first.stdout.readline())
        member = echo(large_model=True)
        assert pid_of(member) == started
        rest, _ = first.communicate()
    assert (rest, first.returncode) == ("", 0)
    assert pid_of(member) == started
    del member
    wait_until(lambda: not psutil.pid_exists(started))
    assert not sockets()


def test_a_model_whose_process_dies_is_started_again(sockets: Callable[[], list[Path]]) -> None:
    member = echo("Deadly", large_model=True)
    killed = pid_of(member)
    os.kill(killed, signal.SIGKILL)
    started = pid_of(member)
    assert started != killed
    with pytest.raises(BatchFailed, match="died twice") as caught:
        member({"x": np.array(["deadly"], object)})
    assert caught.value.code == "process_died"
    assert pid_of(member) not in (killed, started)


def test_a_handler_that_wants_to_be_shared_is_shared_once(sockets: Callable[[], list[Path]]) -> None:
    member = echo(shared=True)
    assert pid_of(member) != os.getpid()
    assert len(sockets()) == 1
    both = echo(shared=True, large_model=True)
    assert pid_of(both) != os.getpid()
    assert len(sockets()) == 2


def test_nobody_else_can_reach_it(onnx_models: Path, sockets: Callable[[], list[Path]]) -> None:
    member = load_member(graph(onnx_models), this_machine())
    (socket,) = sockets()
    assert socket.parent.stat().st_mode & 0o077 == 0
    process = next(
        one for one in psutil.process_iter(["cmdline"]) if str(socket) in (one.info["cmdline"] or ())
    )
    assert not [one for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN]
    assert member(ONES)["y"].tolist() == [[2, 2]]


def test_a_folder_that_others_can_write_to_is_refused(
    onnx_models: Path, sockets: Callable[[], list[Path]]
) -> None:
    Path(tempfile.gettempdir(), f"beam-ensembles-{os.getuid()}").mkdir()
    Path(tempfile.gettempdir(), f"beam-ensembles-{os.getuid()}").chmod(0o777)
    with pytest.raises(EnsembleError, match="a folder that is yours and nobody else's"):
        load_member(graph(onnx_models), this_machine())
