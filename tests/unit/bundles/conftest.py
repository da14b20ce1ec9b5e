"""What the tests of bundles share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from beam_ensembles.bundles.packing import Packed, Packing, pack
from beam_ensembles.bundles.store import VARIABLE
from beam_ensembles.bundles.worker_bundles import find_bundle
from beam_ensembles.registry import KINDS
from beam_ensembles.runtime.loading import files_of

LABELS = """\
ensemble: named
inputs: {x: int64}
nodes:
  name: {apply: labels, file: names.txt, inputs: [x], outputs: {name: string}}
"""

Pack = Callable[..., Packed]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns every test a folder of its own for unpacked bundles."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    find_bundle.cache_clear()
    return tmp_path / "cache" / "bundles"


@pytest.fixture
def originals(tmp_path: Path) -> Path:
    """Returns a folder with an ensemble, ``named.yaml``, that names one file beside it."""
    folder = tmp_path / "originals"
    folder.mkdir()
    (folder / "named.yaml").write_text(LABELS)
    (folder / "names.txt").write_text("zero\none\n")
    return folder


@pytest.fixture
def pack_file(tmp_path: Path) -> Pack:
    """Packs a file for its owner, into the test's folder."""

    def packs(file: Path, **more: Any) -> Packed:
        trust = more.pop("trust", None)
        more.setdefault("output", str(tmp_path))
        return pack(Packing(file=str(file), files=files_of(file, trust), **more), KINDS)

    return packs
