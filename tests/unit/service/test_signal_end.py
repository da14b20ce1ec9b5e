"""Signals that come before a server is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import SECONDS

SIGNALLED = """
import argparse
import sys

from beam_ensembles_service import launch, settings
from beam_ensembles_service.workers import command

def signalled(host, port):
    try:
        exec("import os; os.kill(os.getpid(), {number:d})")
    except BaseException:
        print("caught")

{module}.try_address = signalled
parser = argparse.ArgumentParser()
{flags}.add_arguments(parser)
sys.exit({module}.run(parser.parse_args(["--port=0"])))
"""
"""A server that gets a signal in what an import may do: run a text, and catch all that comes of it."""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(("module", "flags"), [("launch", "settings"), ("command", "command")])
def test_a_signal_ends_it_with_code_0(module: str, flags: str, number: int, tmp_path: Path) -> None:
    text = SIGNALLED.format(module=module, flags=flags, number=number)
    (tmp_path / "signalled.py").write_text(text, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-m", "signalled"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr.endswith("ended before it was ready\n")
    assert ended.stderr.count("\n") == 1
