"""The acceptance run of the GPU path: on the processor, in tiny; and what becomes of steps that fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from scripts.gpu_acceptance.running import FAILED, PASSED, SKIPPED, Outcome, run_steps, table
from scripts.gpu_acceptance.setting import TINY, NotHere, Setting, Step, StepFailed
from scripts.gpu_acceptance.steps import STEPS
from scripts.layout import ROOT

BLOCKED = ("catboost", "lightgbm", "polars", "tensorflow", "xgboost")
BLOCKER = f"""
import importlib.machinery
find = importlib.machinery.PathFinder.find_spec
def found(cls, name, path=None, target=None):
    return None if name.partition(".")[0] in {BLOCKED} else find(name, path, target)
importlib.machinery.PathFinder.find_spec = classmethod(found)
"""


def without_frameworks(folder: Path) -> dict[str, str]:
    """Returns an environment whose Pythons find no framework but PyTorch."""
    (folder / "sitecustomize.py").write_text(BLOCKER)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}


def test_it_passes_on_the_processor_without_other_frameworks(tmp_path: Path) -> None:
    lines = tmp_path / "lines.jsonl"
    command = [sys.executable, "-m", "scripts.gpu_acceptance", "--device", "cpu", "--tiny", "--patience", "5"]
    done = subprocess.run(
        [*command, "--output", str(lines)],
        cwd=ROOT, env=without_frameworks(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [one["step"] for one in found] == [step.name for step in STEPS]
    assert {one["status"] for one in found} == {PASSED}
    assert f"{len(STEPS)} passed, 0 failed, 0 skipped" in done.stdout
    by_name = {one["step"]: one["figures"] for one in found}
    assert by_name["long_text"]["error"].startswith("wrong_value: a text has 602 tokens")
    assert "[no_gpu]" in by_name["nearly_full"]["gpu_says"]
    assert by_name["text_rates"]["float32.node"] > 0


def test_tests_of_gpus_are_collected_without_other_frameworks(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/gpu"],
        cwd=ROOT, env=without_frameworks(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_onnx_on_gpu.py" in done.stdout


def setting(folder: Path) -> Setting:
    return Setting("cpu", TINY, folder)


def passes(_: Setting) -> dict[str, Any]:
    return {"rows": 3}


def fails(_: Setting) -> dict[str, Any]:
    raise StepFailed("too slow")


def is_not_here(_: Setting) -> dict[str, Any]:
    raise NotHere("no second device")


def breaks(_: Setting) -> dict[str, Any]:
    raise KeyError("label")


def dies(_: Setting) -> dict[str, Any]:
    os._exit(3)


def hangs(_: Setting) -> dict[str, Any]:
    subprocess.run(["sleep", "600"], check=False)
    return {}


@pytest.mark.parametrize(
    ("run", "status", "text"),
    [
        (passes, PASSED, ""),
        (fails, FAILED, "too slow"),
        (is_not_here, SKIPPED, "no second device"),
        (breaks, FAILED, "KeyError: 'label'"),
        (dies, FAILED, "its process died"),
    ],
)
def test_each_step_says_what_became_of_it(tmp_path: Path, run: Any, status: str, text: str) -> None:
    (outcome,) = run_steps([Step("one", 60, run)], setting(tmp_path), 60)
    assert (outcome.status, outcome.text) == (status, text)
    assert json.loads(outcome.line)["step"] == "one"


def test_a_step_is_ended_at_its_limit_and_the_next_one_runs(tmp_path: Path) -> None:
    start = time.monotonic()
    steps = [Step("hangs", 0.5, hangs), Step("passes", 60, passes)]
    first, second = run_steps(steps, setting(tmp_path), 600)
    assert (first.status, second.status) == (FAILED, PASSED)
    assert time.monotonic() - start < 60


def test_a_step_for_which_no_time_is_left_has_failed(tmp_path: Path) -> None:
    (outcome,) = run_steps([Step("late", 60, passes)], setting(tmp_path), 0)
    assert (outcome.status, outcome.text) == (FAILED, "the 0 s of the run are over")


def test_the_table_says_all() -> None:
    found = table(
        [
            Outcome("texts", PASSED, 3.0, 60.0, {"tokens": 12_345.678}),
            Outcome("pictures", FAILED, 1.0, 60.0, {}, "slow"),
        ]
    )
    assert "PASSED  texts" in found
    assert "tokens = 1.235e+04" in found
    assert "FAILED  pictures            1.0 s  slow" in found
    assert found.endswith("1 passed, 1 failed, 0 skipped")


def test_the_run_takes_under_eight_minutes() -> None:
    assert (
        sum(step.seconds for step in STEPS) < 2 * 480
    )  # a run in which all end at their limits is cut at 480 s
