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


def test_an_environment_is_lent_the_bytecode_of_modules_that_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = (
        tmp_path / name / "lib" / "python3.11" / "site-packages" / "lib" for name in (".venv", "other")
    )
    (mine / "__pycache__").mkdir(parents=True)
    other.mkdir(parents=True)
    for name in ("same", "differs", "alone"):
        (mine / f"{name}.py").write_text(name, encoding="utf-8")
        (mine / "__pycache__" / f"{name}.cpython-311.pyc").write_text(f"{name} compiled", encoding="utf-8")
    (other / "same.py").hardlink_to(mine / "same.py")
    (other / "differs.py").write_text("another", encoding="utf-8")  # of the same size and age
    monkeypatch.setattr(python, "VENV", tmp_path / ".venv")
    for _ in range(2):
        python.lend_bytecode(tmp_path / "other")
    found = {str(path.relative_to(other)): path.read_text(encoding="utf-8") for path in other.rglob("*.pyc")}
    assert found == {"__pycache__/same.cpython-311.pyc": "same compiled"}
