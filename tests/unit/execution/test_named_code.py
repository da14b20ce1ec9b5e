"""The digest of the code that a node names changes with the code, and with nothing else."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from beam_ensembles.execution.named_code import digest_of_code

NAMED = {"handler": "acme_team.nets.Net", "config": {"imports": ["acme_alone"]}, "seed": 3}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of Python's path with a package and a module, both imported."""
    (tmp_path / "acme_team").mkdir()
    for name in ("acme_team/__init__.py", "acme_team/nets.py", "acme_team/other.py", "acme_alone.py"):
        (tmp_path / name).write_text("X = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("acme_team.nets", "acme_alone"):
        importlib.import_module(name)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("acme_")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["acme_team/nets.py", "acme_team/other.py", "acme_alone.py"])
def test_it_changes_with_the_package_of_a_name(folder: Path, name: str) -> None:
    before = digest_of_code(NAMED)
    assert digest_of_code(NAMED) == before
    (folder / name).write_text("X = 2\n")
    assert digest_of_code(NAMED) != before


def test_other_options_and_what_is_installed_do_not_count(folder: Path) -> None:
    nothing = digest_of_code({})
    assert (
        digest_of_code({"model_class": "pytest.fixture", "method": "predict", "text": "no name!"}) == nothing
    )
    assert digest_of_code({"handler": "acme_absent.Net"}) == nothing
    (folder / "acme_other.py").write_text("X = 1\n")
    assert digest_of_code(NAMED) == digest_of_code({**NAMED, "seed": 4})
