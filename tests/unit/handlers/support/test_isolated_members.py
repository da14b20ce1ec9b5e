"""A node in a process of its own: what it gives is the same, and it can hang or die without its worker."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from beam_ensembles.errors import EnsembleError
from beam_ensembles.execution.bisecting import run_split
from beam_ensembles.files.ensemble_files import LIBRARY_CODE, Files
from beam_ensembles.graph import check_text
from beam_ensembles.graph.kinds import CheckedNode
from beam_ensembles.handlers.support.shared_members import load_member
from beam_ensembles.processes.column_pipe import ColumnPipe
from beam_ensembles.processes.fork_client import OwnForkServer
from beam_ensembles.processes.machine import this_machine
from beam_ensembles.registry import KINDS
from tests.support.hazards import Hazard
from tests.support.patience import wait_until
from tests.support.processes import children_that_run

FLOWERS = load_iris()


pytestmark = pytest.mark.usefixtures("forked_children")


def check_isolated(folder: Path, model: Any, **more: Any) -> CheckedNode:
    joblib.dump(model, folder / "model.joblib")
    node = {
        "model": "sklearn",
        "uri": "model.joblib",
        "isolate": "process",
        "inputs": ["x"],
        "outputs": {"y": "double"},
    }
    keys = {key: value for key, value in (node | more).items() if value is not None}
    text = json.dumps({"ensemble": "e", "inputs": {"x": "array<double>[4]"}, "nodes": {"n": keys}})
    return check_text(text, KINDS, Files(str(folder), (str(folder),), code=LIBRARY_CODE)).nodes[0]


def member(folder: Path, model: Any, **more: Any) -> Any:
    return load_member(check_isolated(folder, model, **more), this_machine())


def rows(count: int, **bad: int) -> np.ndarray:
    x = np.arange(count * 4, dtype=np.float64).reshape(count, 4)
    for name, at in bad.items():
        x[at, 0] = getattr(Hazard, name.upper())
    return x


def test_it_gives_what_it_gives_in_the_worker(tmp_path: Path) -> None:
    model = LogisticRegression(max_iter=500).fit(FLOWERS.data, FLOWERS.target)
    found = member(tmp_path, model, outputs={"y": "int64"})({"x": FLOWERS.data})
    assert found["y"].tolist() == model.predict(FLOWERS.data).tolist()


@pytest.mark.parametrize(
    "way", [{}, {"isolate": None, "config": {"large_model": True}}, {"isolate": None}], ids=repr
)
def test_bundles_that_call_it_at_one_time_get_their_own_answers(tmp_path: Path, way: dict[str, Any]) -> None:
    """A worker has a thread for each bundle, and loads a model once."""
    loaded = member(tmp_path, Hazard(), **way)

    def calls(first: int) -> list[bool]:
        batches = [rows(10) + first + at for at in range(100)]
        return [np.array_equal(loaded({"x": x})["y"], x.sum(axis=1)) for x in batches]

    with ThreadPoolExecutor(3) as bundles:
        assert all(itertools.chain.from_iterable(bundles.map(calls, (0, 1_000, 2_000))))


def test_a_row_that_hangs_is_the_only_one_that_fails(tmp_path: Path) -> None:
    x = rows(2, hangs=1)
    outputs, faults = run_split(member(tmp_path, Hazard(), timeout=3.0), {"x": x}, 2)
    assert {at: error.code for at, error in faults.items()} == {1: "timeout"}
    assert "no answer within 3 s" in str(faults[1])
    assert outputs["y"].tolist() == x[:1].sum(axis=1).tolist()


def test_a_row_that_kills_is_the_only_one_that_fails(tmp_path: Path) -> None:
    x = rows(2, dies=0)
    outputs, faults = run_split(member(tmp_path, Hazard()), {"x": x}, 2)
    assert {at: error.code for at, error in faults.items()} == {0: "process_died"}
    assert "exit code 7" in str(faults[0])
    assert len(outputs["y"]) == 1


@pytest.mark.parametrize("bad", ["bad", "exits"])
@pytest.mark.parametrize(
    "more", [{}, {"isolate": None, "config": {"model_copies": 1}}], ids=["own", "shared"]
)
def test_an_error_comes_back_as_it_is(tmp_path: Path, bad: str, more: dict[str, Any]) -> None:
    x = rows(8, **{bad: 2})
    _, faults = run_split(member(tmp_path, Hazard(), **more), {"x": x}, 8)
    assert {at: error.code for at, error in faults.items()} == {2: "model_error"}
    assert "a bad row" in str(faults[2])
    assert "in predict" in faults[2].stack


def test_what_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    node = check_isolated(tmp_path, Hazard())
    (tmp_path / "model.joblib").write_bytes(b"no model")
    with pytest.raises(EnsembleError, match="load_failed"):
        load_member(node, this_machine())


def test_a_killed_child_is_started_again_and_none_is_left(tmp_path: Path) -> None:
    found = member(tmp_path, Hazard())
    x = rows(4)
    before = children()
    assert before
    for child in before:
        child.kill()
        child.wait()
    outputs, faults = run_split(found, {"x": x}, 4, None, 2)
    assert (len(outputs["y"]), faults) == (4, {}), "it is tried again"
    del found
    wait_until(lambda: not children())


def test_one_that_is_collected_while_another_is_started_does_not_wait(
    tmp_path: Path, fork_server: OwnForkServer | None
) -> None:
    """Python may collect it amid the code that holds the fork server's lock, which the same thread then cannot have."""
    if fork_server is None:
        pytest.skip("this system cannot fork")
    found = member(tmp_path, Hazard())
    with fork_server._sending:
        del found
    wait_until(lambda: not children())


def test_an_answer_that_was_not_received_is_not_taken_for_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = member(tmp_path, Hazard())

    def run_out(_: ColumnPipe) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(ColumnPipe, "recv", run_out)
        with pytest.raises(MemoryError):
            found({"x": rows(4)})
    assert found({"x": rows(4) + 1})["y"].tolist() == (rows(4) + 1).sum(axis=1).tolist()


def test_a_child_that_cannot_be_started_again_fails_all_rows_at_once(tmp_path: Path) -> None:
    found = member(tmp_path, Hazard())
    (tmp_path / "model.joblib").write_bytes(b"no model")
    _, faults = run_split(found, {"x": rows(300, dies=0)}, 300)
    assert {error.code for error in faults.values()} == {"process_died"}
    assert len(faults) == 300
    assert "load_failed" in str(faults[1])


def children() -> list[psutil.Process]:
    """The processes that hold nodes."""
    return children_that_run("isolated_process")


SCRIPT = """
import numpy
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
print("once")
handler = EnsembleModelHandler({file!r})
(result,) = handler.run_inference([{{"x": 9.0}}], handler.load_model())
print(result.inference.y)
"""


def test_a_script_is_not_run_again(tmp_path: Path) -> None:
    node = "{apply: python, function: numpy.nan_to_num, isolate: process, inputs: [x], outputs: {y: double}}"
    (tmp_path / "e.yaml").write_text(f"ensemble: e\ninputs: {{x: double}}\nnodes:\n  n: {node}\n")
    (tmp_path / "script.py").write_text(SCRIPT.format(file=str(tmp_path / "e.yaml")))
    found = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout.split()) == (0, ["once", "9.0"]), found.stderr
