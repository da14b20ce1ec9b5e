"""CatBoost's files: loaded only where somebody vouches for them; the service reads their headers within bounds."""

from __future__ import annotations

import contextlib
import hashlib
import struct
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


def _shared(entries: int, size: int, text: bytes = b"{}") -> bytes:
    """Returns a file whose list of parameters names one entry many times, with a value of ``size`` bytes."""
    data = bytearray(b"CBM1\0\0\0\0" + bytes(4))

    def table(*fields: int) -> list[int]:
        at, most = len(data), max(fields, default=-1) + 1
        places = [4 * (fields.index(field) + 1) if field in fields else 0 for field in range(most)]
        data.extend(struct.pack(f"<{2 + most}H", 4 + 2 * most, 4 + 4 * len(fields), *places))
        start = len(data)
        data.extend(struct.pack("<i", start - at) + bytes(4 * len(fields)))
        return [start, *range(start + 4, len(data), 4)]

    def lead(place: int, there: int) -> None:
        struct.pack_into("<I", data, place, there - place)

    core, to_trees, to_info = table(1, 2)
    struct.pack_into("<I", data, 8, core - 8)
    (trees,) = table()
    lead(to_trees, trees)
    lead(to_info, len(data))
    first = len(data) + 4
    data.extend(struct.pack("<I", entries) + bytes(4 * entries))
    entry, to_key, to_value = table(0, 1)
    for place in range(first, first + 4 * entries, 4):
        lead(place, entry)
    lead(to_key, len(data))
    data.extend(struct.pack("<I", 6) + b"params" + bytes(2))
    lead(to_value, len(data))
    data.extend(struct.pack("<I", size) + text.ljust(size))
    return bytes(data)


def test_one_text_that_stands_for_many_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(_shared(1, 1_000))
    assert read_header(str(tmp_path / "m")) is not None
    (tmp_path / "m").write_bytes(_shared(5_000, 100_000))
    with pytest.raises(ModelFormatError, match="its texts are longer than the file"):
        read_header(str(tmp_path / "m"))


def test_parameters_are_measured_before_they_are_read(tmp_path: Path) -> None:
    lists = b'{"a":[' + b"[]," * 5_000_000 + b"0]}"
    (tmp_path / "m").write_bytes(_shared(1, len(lists), lists))
    with pytest.raises(ModelFormatError, match="MiB in memory"):
        read_header(str(tmp_path / "m"))
