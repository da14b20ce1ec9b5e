"""What TensorFlow logs while it is imported, whatever its level is, stays off a person's screen."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.patience import SECONDS

CODE = """\
import os, sys
from beam_ensembles.beam_repairs import inference_imports
if {notebook}:
    sys.modules["ipykernel"] = sys
try:
    with inference_imports._without_chatter():
        os.write(2, b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\\n")
        os.write(2, b"I0000 00:00:1795786149.012734   11250 port.cc:153] oneDNN custom operations are on.\\n")
        os.write(2, b"E0000 00:00:1795786152.260455   11250 cuda_platform.cc:52] failed call to cuInit\\n")
        os.write(2, b"2026-01-31 12:00:00.123456: W external/xla.cc:1] something\\n")
        print("another thread's line", file=sys.stderr)
        os.write(2, b"F0000 00:00:1 cpu.cc:1] needs AVX\\n")
        if {fails}:
            raise ImportError("no such library")
except ImportError as error:
    print(error, file=sys.stderr)
print("later", file=sys.stderr)
"""


def standard_error(*, notebook: bool = False, fails: bool = False, **environment: str) -> list[str]:
    names = ("TF_CPP_MIN_LOG_LEVEL", "BEAM_ENSEMBLES_QUIET")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    kept["PYTHONPATH"] = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(notebook=notebook, fails=fails)],
        env=kept | environment, capture_output=True, text=True, timeout=SECONDS, check=True,
    )  # fmt: skip
    return done.stderr.splitlines()


OTHERS = ["another thread's line", "F0000 00:00:1 cpu.cc:1] needs AVX"]


@pytest.mark.parametrize("fails", [False, True])
def test_only_chatter_is_dropped(fails: bool) -> None:
    after = ["no such library"] if fails else []
    assert standard_error(fails=fails, BEAM_ENSEMBLES_QUIET="1") == [*OTHERS, *after, "later"]


def test_a_notebook_is_quiet() -> None:
    assert standard_error(notebook=True) == [*OTHERS, "later"]


@pytest.mark.parametrize("environment", [{}, {"BEAM_ENSEMBLES_QUIET": "1", "TF_CPP_MIN_LOG_LEVEL": "0"}])
def test_elsewhere_and_where_somebody_asks_for_it_all_is_shown(environment: dict[str, str]) -> None:
    assert len(standard_error(**environment)) == 7
