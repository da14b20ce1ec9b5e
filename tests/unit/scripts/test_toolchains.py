"""What sets up the environments of a checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.shell import CommandFailed
from scripts.toolchains import python


def test_the_environment_of_another_checkout_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = tmp_path / "other" / ".venv"
    others.mkdir(parents=True)
    (others / ".uv-made").write_text("what the other checkout was made from", encoding="utf-8")
    mine = tmp_path / ".venv"
    mine.symlink_to(others)
    monkeypatch.setattr(python, "VENV", mine)
    with pytest.raises(CommandFailed, match="belongs to another checkout"):
        python.make_venv()
    assert (others / ".uv-made").exists()
