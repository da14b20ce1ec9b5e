"""Runs a verb of the command line in a process that has nothing but Python, installed packages and this project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Final

import beam_ensembles
from beam_ensembles.bundles.needed_code import installed_folders
from beam_ensembles.bundles.store import VARIABLE

_MAIN: Final = """\
import json, sys
sys.path += json.loads(sys.argv.pop(1))
from beam_ensembles.cli.main import main
sys.exit(main())
"""
"""Files of ``site-packages`` that name further folders (.pth, as of editable installs) are not read: see ``-S``.

Processes that it starts in turn do not read them either (``handlers.forking.python``).
"""
_OF_PYTHON: Final = "PYTHON"


def run_alone(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs ``beam-ensembles`` in a process whose path, folder and cache hold nothing of the caller's.

    Args:
        arguments: The verb and its arguments; paths are absolute.

    Returns:
        How it ended, with what it wrote to standard output. Standard error is the caller's.
    """
    ours = os.path.dirname(os.path.dirname(os.path.abspath(beam_ensembles.__file__)))
    folders = list(dict.fromkeys([*installed_folders(), ours]))
    with tempfile.TemporaryDirectory(prefix="beam-ensembles-") as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(_OF_PYTHON)}
        environment[VARIABLE] = os.path.join(folder, "cache")
        environment["PYTHONPATH"] = (
            ours  # for processes that it starts in turn, of nodes with 'isolate: process'
        )
        work = os.path.join(folder, "empty")
        os.mkdir(work)
        return subprocess.run(  # noqa: S603 - this Python, with code of ours
            [sys.executable, "-I", "-S", "-c", _MAIN, json.dumps(folders), *arguments],
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
