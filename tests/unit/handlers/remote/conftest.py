"""What quotas and budgets have used is kept in a folder of each test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from beam_ensembles.handlers.remote.shared_numbers import VARIABLE


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "state"))
    return tmp_path / "state"
