"""Temporary files beside results: nobody can put a link into their place, and killed processes leave none for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from beam_ensembles.files.temporary import part_file, temporary_folder
from beam_ensembles.tables.whole_file import whole_file
from beam_ensembles_service.workers.state import WORKERS, PoolState

WRITER = """
import sys
from beam_ensembles.files.temporary import temporary_folder
from beam_ensembles.tables.whole_file import whole_file
folder = sys.argv[1]
with whole_file(folder + "/out.csv") as file, temporary_folder("copy-", folder) as copy:
    file.write(b"half")
    file.flush()
    open(copy + "/model", "wb").write(b"half")
    print("ready", flush=True)
    sys.stdin.read()
"""


@contextmanager
def writer(folder: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_part_file_is_new_and_follows_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    guessed = iter(["aa", "bb"])
    monkeypatch.setattr("beam_ensembles.files.temporary.secrets.token_hex", lambda _: next(guessed))
    (tmp_path / ".out.csv.aa.part").symlink_to(victim)
    with pytest.raises(FileExistsError), whole_file(str(tmp_path / "out.csv")) as file:
        file.write(b"x")
    (tmp_path / f".out.csv.{os.getpid()}.part").symlink_to(victim)
    with whole_file(str(tmp_path / "out.csv")) as file:
        file.write(b"x")
    assert (victim.read_bytes(), (tmp_path / "out.csv").read_bytes()) == (b"precious", b"x")


def test_what_a_killed_process_leaves_the_next_run_removes(tmp_path: Path) -> None:
    with writer(tmp_path) as process:
        assert len(names(tmp_path)) == 2
        with whole_file(str(tmp_path / "out.csv")) as file:
            file.write(b"whole")
        with temporary_folder("copy-", str(tmp_path)):
            assert len(names(tmp_path)) == 4, "what a living process writes stays"
        assert len(names(tmp_path)) == 3
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert len(names(tmp_path)) == 3
    with whole_file(str(tmp_path / "out.csv")) as file:
        file.write(b"new")
        assert len(names(tmp_path)) == 3, "its own, the folder, and the file from before"
    with temporary_folder("copy-", str(tmp_path)):
        pass
    assert names(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_bytes() == b"new"


def test_only_leftovers_of_that_name_and_form_are_removed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").touch()
    kept = [".other.csv.aa.part", "out.csv.aa.part", ".out.csv.aa", "copied", ".out.csv2.aa.part"]
    for name in kept:
        (tmp_path / name).touch()
    (tmp_path / ".out.csv.link.part").symlink_to(victim)
    (tmp_path / "copy-link").symlink_to(victim)
    os.mkfifo(tmp_path / ".out.csv.pipe.part")
    (tmp_path / ".out.csv.stale.part").touch()
    with whole_file(str(tmp_path / "out.csv")), temporary_folder("copy-", str(tmp_path)):
        pass
    left = ["victim", "out.csv", ".out.csv.link.part", "copy-link", ".out.csv.pipe.part"]
    assert names(tmp_path) == sorted([*kept, *left])
    assert (victim / "file").exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_what_belongs_to_another_user_stays(tmp_path: Path) -> None:
    (tmp_path / ".out.csv.aa.part").touch()
    os.chown(tmp_path / ".out.csv.aa.part", 12345, 12345)
    with whole_file(str(tmp_path / "out.csv")):
        pass
    assert ".out.csv.aa.part" in names(tmp_path)


def fail_after(file: IO[bytes]) -> None:
    file.write(b"half")
    raise OSError("the disk is full")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_bytes(b"old")
    with pytest.raises(OSError, match="full"), whole_file(str(tmp_path / "out.csv")) as file:
        fail_after(file)
    assert names(tmp_path) == ["out.csv"]
    assert (tmp_path / "out.csv").read_bytes() == b"old"


def test_a_long_name_has_a_part_file_too(tmp_path: Path) -> None:
    with whole_file(str(tmp_path / ("é" * 127))) as file:
        file.write(b"x")
    assert len(names(tmp_path)) == 1


def test_a_part_file_has_the_mode_of_any_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with part_file(str(tmp_path), "x") as (path, descriptor):
            assert os.stat(path).st_mode & 0o777 == 0o640
            os.close(descriptor)
        with temporary_folder("copy-", str(tmp_path)) as folder:
            assert os.stat(folder).st_mode & 0o777 == 0o700
    finally:
        os.umask(before)


def test_the_state_of_a_pool_is_written_so_too(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / f"{WORKERS}.new").symlink_to(victim)
    PoolState(str(tmp_path)).left()
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / WORKERS).read_text() == "[]"
