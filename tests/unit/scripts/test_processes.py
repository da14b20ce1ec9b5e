"""Programs that serve are waited for, and leave nothing behind."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from scripts.processes import serving
from scripts.shell import CommandFailed, run
from tests.support.patience import wait_until

READY = re.compile(r"serving on (\S+)")
WITH_CHILD = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
print("child", child.pid, flush=True)
print("serving on here:1", flush=True)
time.sleep(3600)
"""


def _alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="needs /proc")
def test_what_a_server_started_ends_with_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving([sys.executable, "-c", WITH_CHILD], READY, log=log) as address:
        assert address == "here:1"
        child = int(re.findall(r"child (\d+)", log.read_text(encoding="utf-8"))[0])
        assert _alive(child)
    wait_until(lambda: not _alive(child))


def test_a_server_that_ends_at_once_is_told_with_what_it_said(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no such port')"]
    with (
        pytest.raises(CommandFailed, match=r"ended with 1(?s:.*)no such port"),
        serving(command, READY, log=tmp_path / "log"),
    ):
        raise AssertionError("it does not serve")


def test_a_command_that_fails_is_told_with_the_end_of_its_log(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "print('x' * 10); raise SystemExit(3)"]
    with pytest.raises(CommandFailed, match=r"ended with 3(?s:.*)xxxxxxxxxx"):
        run(command, log=tmp_path / "log")


def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="cannot run no-such-command: No such file"):
        run(["no-such-command"], log=tmp_path / "log")
