"""Folders that other users can write to: no code, no file and no process of this user's is theirs for that.

Other users are made with chown, so that these tests need root; elsewhere they are left out.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from beam_ensembles.tables.whole_file import whole_file
from beam_ensembles_service.workers.state import WORKERS, PoolState
from tests.support.callers import NOBODY
from tests.support.patience import SECONDS

CLI = (sys.executable, "-P", "-m", "beam_ensembles.cli.main")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
ISOLATED = {
    "ensemble": "apart",
    "inputs": {"x": "double"},
    "nodes": {
        "n": {
            "apply": "python",
            "function": "numpy.nan_to_num",
            "isolate": "process",
            "inputs": ["x"],
            "outputs": {"y": "double"},
        }
    },
}


def given_away(path: Path) -> Path:
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    return path


def test_processes_import_nothing_from_the_current_folder(tmp_path: Path) -> None:
    own, shared = tmp_path / "own", tmp_path / "shared"
    own.mkdir()
    shared.mkdir()
    (own / "e.json").write_text(json.dumps(ISOLATED))
    (own / "rows.jsonl").write_text('{"x": 1.5}\n')
    mark = tmp_path / "ran"
    planted = f"open({str(mark)!r}, 'w').write('x')\nraise ImportError\n"
    for name in ("threadpoolctl", "numpy", "sitecustomize", "beam_ensembles"):
        (shared / f"{name}.py").write_text(planted)
    out = own / "out.jsonl"
    ran = subprocess.run(
        [*CLI, "run", str(own / "e.json"), "--input", str(own / "rows.jsonl"), "--output", str(out)],
        cwd=shared,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(out.read_text()) == {"x": 1.5, "y": 1.5}
    assert not mark.exists()


@as_root
def test_a_link_of_another_user_is_not_written_through(tmp_path: Path) -> None:
    target = tmp_path / "private.jsonl"
    target.write_text("kept")
    link = tmp_path / "out.jsonl"
    link.symlink_to(target)
    given_away(link)
    with pytest.raises(PermissionError, match="it is a link that another user made"), whole_file(str(link)):
        pass
    assert target.read_text() == "kept"


def test_a_link_of_ones_own_still_is(tmp_path: Path) -> None:
    target, link = tmp_path / "target.jsonl", tmp_path / "out.jsonl"
    link.symlink_to(target)
    with whole_file(str(link)) as file:
        file.write(b"x")
    assert target.read_text() == "x"


def workers(state: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CLI, "workers", "--port=0", "--when-a-worker-dies=stop-runner", f"--state={state}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@as_root
@pytest.mark.parametrize("how", ["its owner", "everyone", "its group", "the folder above", "a link"])
def test_a_pool_keeps_no_state_where_others_write(tmp_path: Path, how: str) -> None:
    """The folder says which processes the pool ends."""
    state = tmp_path / "above" / "state"
    state.mkdir(parents=True)
    if how == "its owner":
        os.chown(state, NOBODY, -1)
    elif how == "everyone":
        state.chmod(0o777)
    elif how == "its group":
        os.chown(state, 0, NOBODY)
        state.chmod(0o770)
    elif how == "the folder above":
        given_away(state.parent)
    else:
        link = tmp_path / "link"
        link.symlink_to(state)
        state = given_away(link)
    ended = workers(state)
    assert ended.returncode == 2
    assert ended.stderr == (
        f"beam-ensembles workers: --state: '{state}', and the folders above it, must belong to this user or root, and "
        "nobody else may write to them: the pool ends processes by what it reads there\n"
    )


@as_root
def test_what_another_user_wrote_of_workers_is_not_believed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given_away(tmp_path).joinpath(WORKERS).write_text(
        json.dumps([{"worker_id": "w", "control": "127.0.0.1:1", "runner": None, "process": None}])
    )
    given_away(tmp_path / WORKERS)
    assert PoolState(str(tmp_path)).left() == ()
    assert "it belongs to another user" in caplog.text
