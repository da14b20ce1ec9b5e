"""Models in a bucket: nothing is read of them before a worker loads them, and a pinned one is what was compared."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from apache_beam.io.filesystems import FileSystems

from beam_ensembles.errors import EnsembleError, InvalidEnsemble
from beam_ensembles.files.fetched_files import fetched, fetched_once
from beam_ensembles.runtime.ensemble_handler import EnsembleModelHandler
from tests.support.nodes import check_node, load_node, problems_of

PAIR = {"x": "array<float>[2]"}
NODE = {
    "model": "onnx",
    "uri": "gs://bucket/double.onnx",
    "inputs": ["x"],
    "outputs": {"y": "array<float>[2]"},
}


@pytest.fixture
def bucket(onnx_models: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for a bucket; lists what was opened."""
    opened: list[str] = []

    def open_there(path: str, *_: Any, **__: Any) -> Any:
        opened.append(path)
        if path.startswith("gs://bucket/"):
            return (onnx_models / path.removeprefix("gs://bucket/")).open("rb")
        return Path(path).open("rb")

    monkeypatch.setattr(FileSystems, "open", open_there)
    return opened


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_check_reads_nothing_of_it_and_needs_the_types(tmp_path: Path, bucket: list[str]) -> None:
    assert check_node(tmp_path, PAIR, NODE).uri == "gs://bucket/double.onnx"
    assert problems_of(tmp_path, PAIR, NODE | {"outputs": {"y": None}}) == [("missing_type", "outputs.y")]
    assert bucket == []


def test_a_worker_fetches_it_once(tmp_path: Path, bucket: list[str]) -> None:
    answer = load_node(tmp_path, PAIR, NODE)({"x": np.ones((1, 2), np.float32)})
    assert answer["y"].tolist() == [[2, 2]]
    assert [path.startswith("gs://") for path in bucket] == [True, False]


def test_a_pinned_one_is_fetched_once_and_loaded_from_there(
    tmp_path: Path, onnx_models: Path, bucket: list[str]
) -> None:
    pinned = NODE | {"sha256": _digest(onnx_models / "double.onnx")}
    answer = load_node(tmp_path, PAIR, pinned)({"x": np.ones((1, 2), np.float32)})
    assert answer["y"].tolist() == [[2, 2]]
    assert [path.startswith("gs://") for path in bucket] == [True, False]


def test_another_than_the_pinned_one_is_not_loaded(
    tmp_path: Path, onnx_models: Path, bucket: list[str]
) -> None:
    pinned = NODE | {"sha256": _digest(onnx_models / "counts.onnx")}
    with pytest.raises(
        InvalidEnsemble, match=r"\[sha256_mismatch\] nodes\.node\.sha256: .*is not the pinned one"
    ):
        load_node(tmp_path, PAIR, pinned)
    assert bucket == ["gs://bucket/double.onnx"]


def test_a_graph_that_is_not_as_declared_is_refused_when_it_is_loaded(
    tmp_path: Path, bucket: list[str]
) -> None:
    wrong = NODE | {"outputs": {"y": "array<float>[3]"}}
    with pytest.raises(InvalidEnsemble, match=r"\[signature_mismatch\] nodes\.node\.outputs\.y: "):
        load_node(tmp_path, PAIR, wrong)
    missing = NODE | {"uri": "gs://bucket/none.onnx"}
    with pytest.raises(
        EnsembleError, match=r"cannot load 'gs://bucket/none\.onnx' as onnx: FileNotFoundError"
    ):
        load_node(tmp_path, PAIR, missing)
    assert [path for path in bucket if path.startswith("gs://")] == [
        "gs://bucket/double.onnx",
        "gs://bucket/none.onnx",
    ]


def test_nodes_of_one_file_fetch_it_once(tmp_path: Path, onnx_models: Path, bucket: list[str]) -> None:
    other = NODE | {
        "uri": "gs://bucket/open.onnx",
        "outputs": {"w": {"from": "Y", "type": "array<float>[2]"}},
    }
    nodes = {"first": NODE | {"outputs": {"y": {"from": "Y", "type": "array<float>[2]"}}}, "other": other}
    pin = {"sha256": _digest(onnx_models / "double.onnx")}
    nodes["second"] = NODE | pin | {"outputs": {"z": {"from": "Y", "type": "array<float>[2]"}}}
    file = tmp_path / "two.json"
    file.write_text(json.dumps({"ensemble": "two", "inputs": PAIR, "nodes": nodes}), encoding="utf-8")
    handler = EnsembleModelHandler(file)
    bucket.clear()
    handler.load_model()
    assert [path for path in bucket if path.startswith("gs://")] == [
        "gs://bucket/double.onnx",
        "gs://bucket/open.onnx",
    ]
    copies = {path for path in bucket if not path.startswith("gs://")}
    assert len(copies) == 2
    assert not any(Path(copy).exists() for copy in copies)
    uri = str(NODE["uri"])
    with fetched_once([uri, uri]), fetched(uri) as one, fetched(uri) as again:
        assert again == one
    assert not Path(one).exists()


@pytest.mark.parametrize("more", [{}, {"sha256": "0" * 64}])
@pytest.mark.parametrize(
    "node",
    [
        {"model": "sklearn", "uri": "here.joblib"},
        {"model": "sklearn", "uri": "here.pkl"},
        {"model": "tensorrt", "uri": "here.engine"},
    ],
)
def test_strangers_are_not_told_which_files_there_are(
    tmp_path: Path, node: dict[str, Any], more: dict[str, Any]
) -> None:
    own = {"inputs": ["x"], "outputs": {"y": "array<float>[2]"}}
    said = []
    for _ in range(2):
        with pytest.raises(InvalidEnsemble) as caught:
            check_node(tmp_path, PAIR, node | own | more, trust=False)
        said.append([str(problem) for problem in caught.value.problems])
        (tmp_path / node["uri"]).write_bytes(b"a model")
    assert said[0] == said[1]
    assert ("sha256_mismatch" if more else "untrusted_file") in said[0][0]
