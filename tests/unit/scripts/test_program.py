"""Temporary files have a place that goes away."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

import pytest

from scripts.program import own_temporary_folder


def test_this_process_and_those_that_it_starts_use_the_folder() -> None:
    with own_temporary_folder() as folder:
        own = tempfile.mkdtemp()
        code = "import tempfile; print(tempfile.mkdtemp())"
        started = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
        assert os.path.dirname(own) == folder
        assert os.path.dirname(started.stdout.strip()) == folder
    assert not os.path.exists(folder)


def test_afterwards_the_place_is_that_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR")
    with own_temporary_folder():
        pass
    assert "TMPDIR" not in os.environ


def test_an_error_leaves_nothing_behind() -> None:
    with pytest.raises(KeyError), own_temporary_folder() as folder:
        raise KeyError
    assert not os.path.exists(folder)
