"""The workers of a machine hold a shared model once, or as often as its node says; any other each for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.memory import copies_held


@pytest.mark.timeout(600)
def test_a_large_model_is_held_once_by_all_workers_and_threads(tmp_path: Path) -> None:
    configs = {"own": {}, "large model": {"large_model": True}}
    size, copies = copies_held(tmp_path, 4_096, configs, processes=2, threads=2)
    assert size > 100 << 20
    assert copies == pytest.approx({"own": 2, "large model": 1}, abs=0.35)
