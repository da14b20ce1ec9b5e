"""``make fuzz``: it counts attacks, keeps what fails, says how to repeat it, and ends when it is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts import fuzz
from scripts.layout import ROOT
from tests.support.patience import SECONDS, wait_until

ATTACKS = """
import os, time
from hypothesis import strategies as st
from tests.support.fuzzing import fuzz

@fuzz(st.integers())
def test_whole_numbers(number):
    pass

@fuzz(st.integers())
def test_numbers_below_a_thousand(number):
    assert os.environ.get("SAFE") or number < 1000

@fuzz(st.integers(), examples=1)
def test_slow(number):
    open(os.environ["SLOW"] + ".began", "w").close()
    time.sleep(3600)
"""


@pytest.fixture(autouse=True)
def _folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "TESTS", tmp_path)
    monkeypatch.setattr(fuzz, "KEPT", tmp_path / "kept")
    monkeypatch.setenv("SLOW", str(tmp_path / "slow"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, sys.path)]))
    (tmp_path / "test_attacks.py").write_text(ATTACKS)


def test_what_fails_is_kept_and_can_be_repeated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fuzz.main(["--seed", "7", "--examples", "40", "--only", "numbers"]) == 1
    said = capsys.readouterr().out
    assert "seed 7: " in said
    assert "FAILED" in said
    assert "test_numbers_below_a_thousand" in said
    assert "again: python -m scripts.fuzz --seed 7 --examples 40 --only 'numbers'" in said
    assert "number=1000" in (fuzz.KEPT / "7.log").read_text()
    monkeypatch.setenv("SAFE", "1")
    assert fuzz.main(["--seed", "7", "--examples", "40", "--only", "numbers"]) == 0
    said = capsys.readouterr().out
    assert "seed 7: 80 attacks, nothing failed" in said
    assert said.endswith("80 attacks in 1 rounds, 0 of them with failures\n")
    assert not (fuzz.KEPT / "7.log").exists()


def test_a_round_that_is_not_over_in_time_is_ended(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    assert fuzz.main(["--seconds", "5", "--only", "slow"]) == 0
    assert time.monotonic() - began < SECONDS
    assert "unfinished, nothing failed" in capsys.readouterr().out


def test_words_that_no_attack_has_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz.main(["--only", "nothing_like_this"]) == 2
    assert capsys.readouterr().out == "no attack has 'nothing_like_this' in its name\n"


def test_ctrl_c_ends_it_with_all_that_it_runs(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from scripts import fuzz\n"
        f"fuzz.TESTS = Path({str(tmp_path)!r}); fuzz.KEPT = fuzz.TESTS / 'kept'\n"
        "sys.exit(fuzz.main(['--only', 'slow']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        wait_until((tmp_path / "slow.began").exists)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert said == "interrupted\n0 attacks in 0 rounds, 0 of them with failures\n"


def test_a_reader_that_has_enough_is_no_traceback(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from scripts import fuzz\n"
        f"fuzz.TESTS = Path({str(tmp_path / 'none')!r}); fuzz.KEPT = fuzz.TESTS / 'kept'\n"
        "fuzz.run_round = lambda seed, *_: fuzz.Round(seed, 1, (), 0)\n"
        "sys.exit(fuzz.main(['--seed', '7']))"
    )
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as broken:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            stdout=broken,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
