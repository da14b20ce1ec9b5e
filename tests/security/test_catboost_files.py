"""CatBoost's files: loaded only where somebody vouches for them; the service reads their headers within bounds."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import catboost
import numpy as np
import pytest
from hypothesis import strategies as st

from beam_ensembles.errors import EnsembleError, InvalidEnsemble, ModelFormatError
from beam_ensembles.handlers.catboost.header import read_header
from beam_ensembles.registry import KINDS
from tests.support.fuzzing import EXAMPLES, Target, fuzz, mutated, target
from tests.support.nodes import check_node, problems_of

X: Final = np.random.default_rng(0).random((60, 3))
INPUTS: Final = {"x": "array<double>[3]"}


def _saved(format_: str) -> bytes:
    small = {"iterations": 2, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    model = catboost.CatBoostClassifier(**small).fit(X, np.where(X[:, 0] > 0.5, "yes", "no"))
    with tempfile.TemporaryDirectory() as folder:
        model.save_model(f"{folder}/m", format=format_)
        return Path(folder, "m").read_bytes()


FILES: Final = {"m.cbm": _saved("cbm"), "m.json": _saved("json")}


def node(uri: str, **more: Any) -> dict[str, Any]:
    return {"model": "catboost", "uri": uri, "inputs": ["x"], "outputs": {"y": "string"}} | more


@pytest.mark.parametrize("name", list(FILES))
def test_a_file_needs_a_pin_or_a_trusted_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    assert problems_of(tmp_path, INPUTS, node(name), trust=False) == [("untrusted_file", "uri")]
    pin = hashlib.sha256(FILES[name]).hexdigest()
    assert check_node(tmp_path, INPUTS, node(name, sha256=pin), trust=False).outputs
    assert check_node(tmp_path, INPUTS, node(name)).outputs
    other = node(name, sha256="0" * 64)
    assert problems_of(tmp_path, INPUTS, other, trust=False) == [("sha256_mismatch", "sha256")]


def test_why_is_said(tmp_path: Path) -> None:
    (tmp_path / "m.cbm").write_bytes(FILES["m.cbm"])
    with pytest.raises(InvalidEnsemble, match="CatBoost does not check what its files say"):
        check_node(tmp_path, INPUTS, node("m.cbm"), trust=False)


def test_a_worker_loads_only_the_pinned_file(tmp_path: Path) -> None:
    (tmp_path / "m.cbm").write_bytes(FILES["m.cbm"])
    pin = hashlib.sha256(FILES["m.cbm"]).hexdigest()
    checked = check_node(tmp_path, INPUTS, node("m.cbm", sha256=pin), trust=False)
    (tmp_path / "m.cbm").write_bytes(FILES["m.cbm"] + b"\0")
    with pytest.raises(EnsembleError, match="sha256_mismatch"):
        KINDS["model", "catboost"].load(checked)


def attack(data: bytes) -> Any:
    """Reads the header as the service does."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with contextlib.suppress(ModelFormatError):
            return str(read_header(file.name))[:100]
    return None


@pytest.fixture(scope="module")
def reader() -> Iterator[Target]:
    with target(f"{__name__}:attack", most_bytes=2 << 30, seconds=10) as found:
        yield found


@fuzz(st.sampled_from(list(FILES.values())).flatmap(mutated), examples=EXAMPLES // 3)
def test_mutated_headers_are_one_sentence(reader: Target, data: bytes) -> None:
    outcome = reader.attack(data)
    assert outcome.kind == "answered", outcome


def test_lists_that_lie_are_not_believed(tmp_path: Path) -> None:
    data = FILES["m.cbm"]
    for at in range(8, 400, 4):
        (tmp_path / "m").write_bytes(data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :])
        with contextlib.suppress(ModelFormatError):
            read_header(str(tmp_path / "m"))
