"""ONNX models that keep their weights in files beside them: on this machine and elsewhere, pinned and not."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from apache_beam.io.filesystems import FileSystems
from onnx import TensorProto, helper, numpy_helper

from beam_ensembles.errors import (
    InvalidEnsemble,
    ModelFormatError,
)
from beam_ensembles.files.ensemble_files import sha256_of
from beam_ensembles.handlers.onnx.graph import read_signature
from beam_ensembles.handlers.onnx.weights import weight_files
from beam_ensembles.handlers.support.signatures import (
    Port,
)
from beam_ensembles.registry import KINDS
from tests.support.models import write_graph
from tests.support.nodes import check_node, load_node, problems_of

PAIR = {"x": "array<float>[2]"}
NODE = {"model": "onnx", "uri": "graph.onnx", "inputs": ["x"], "outputs": {"y": "array<float>[2]"}}
BIAS = np.array([10, 20], np.float32)


def split_graph(folder: Path, location: str = "weights.bin") -> Path:
    """Writes a graph that adds a bias from another file."""
    path = write_graph(
        folder / "graph.onnx",
        [("Add", ["X", "bias"], ["Y"], {})],
        [("X", "FLOAT", ["N", 2])],
        [("Y", "FLOAT", ["N", 2])],
        [numpy_helper.from_array(BIAS, "bias")],
    )
    (folder / location).parent.mkdir(parents=True, exist_ok=True)
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location=location, size_threshold=0)
    return path


def named(path: Path, location: str) -> None:
    """Changes the file that a graph names for its weights."""
    model = onnx.load(path, load_external_data=False)
    entries = model.graph.initializer[0].external_data
    next(entry for entry in entries if entry.key == "location").value = location
    path.write_bytes(model.SerializeToString())


def pin(folder: Path, *names: str) -> str:
    """Computes a pin as the documentation says it."""
    done = subprocess.run(
        f"sha256sum {' '.join(names)} | sha256sum", shell=True, cwd=folder, capture_output=True, check=True
    )
    return done.stdout.decode().split()[0]


@pytest.mark.parametrize("location", ["weights.bin", "parts/weights.bin"])
def test_weights_beside_the_model_are_read(tmp_path: Path, location: str) -> None:
    path = split_graph(tmp_path, location)
    assert weight_files(str(path)) == (location,)
    assert read_signature(str(path)).inputs == (Port("X", "float", (None, 2)),)
    y = load_node(tmp_path, PAIR, NODE)({"x": np.ones((1, 2), np.float32)})["y"]
    assert y.tolist() == [[11, 21]]


def test_a_model_of_one_file_names_no_other(onnx_models: Path) -> None:
    assert all(weight_files(str(path)) == () for path in onnx_models.glob("*.onnx"))


def test_weights_anywhere_in_a_model_are_found(tmp_path: Path) -> None:
    def tensor(location: str) -> Any:
        found = TensorProto(name=location, data_type=TensorProto.FLOAT, dims=[2])
        found.data_location = TensorProto.EXTERNAL
        found.external_data.add(key="location", value=location)
        return found

    value = helper.make_tensor_value_info("Y", TensorProto.FLOAT, [2])
    inner = helper.make_graph(
        [helper.make_node("Constant", [], ["c"], value=tensor("inner"))],
        "inner",
        [],
        [value],
        [tensor("weights")],
    )
    branch = helper.make_node("If", ["b"], ["Y"], then_branch=inner, else_branch=inner)
    function = helper.make_function(
        "own", "F", [], ["Y"], [helper.make_node("Constant", [], ["Y"], value=tensor("function"))], []
    )
    graph = helper.make_graph([branch], "outer", [], [value], [tensor("outer"), tensor("outer")])
    model = helper.make_model(graph, functions=[function])
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    assert set(weight_files(str(tmp_path / "model.onnx"))) == {"inner", "weights", "outer", "function"}


def test_graphs_without_end_are_refused(tmp_path: Path) -> None:
    def within(field: int, message: bytes) -> bytes:
        size, length = len(message), b""
        while size > 0x7F:
            length, size = length + bytes([size & 0x7F | 0x80]), size >> 7
        return bytes([field << 3 | 2]) + length + bytes([size]) + message

    graph = b""
    for _ in range(400):
        graph = within(1, within(5, within(6, graph)))  # a node's attribute is a graph
    (tmp_path / "deep.onnx").write_bytes(within(7, graph))
    with pytest.raises(ModelFormatError, match="nested more than"):
        weight_files(str(tmp_path / "deep.onnx"))


@pytest.mark.parametrize(
    "location", ["../weights.bin", "/etc/hostname", "a/../../weights.bin", "", ".", "..\\weights.bin"]
)
def test_weights_outside_of_the_models_folder_are_refused(tmp_path: Path, location: str) -> None:
    named(split_graph(tmp_path), location)
    (tmp_path.parent / "weights.bin").write_bytes(BIAS.tobytes())
    assert problems_of(tmp_path, PAIR, NODE) == [("bad_model_file", "uri")]


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    split_graph(tmp_path)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(InvalidEnsemble, match=r"keeps weights in 'weights\.bin', which is not beside it"):
        check_node(tmp_path, PAIR, NODE)


def test_a_pin_covers_the_weights(tmp_path: Path) -> None:
    path = split_graph(tmp_path)
    both = pin(tmp_path, "graph.onnx", "weights.bin")
    pinned = NODE | {"sha256": both}
    member = load_node(tmp_path, PAIR, pinned)
    assert member({"x": np.zeros((1, 2), np.float32)})["y"].tolist() == [[10, 20]]
    with pytest.raises(
        InvalidEnsemble, match=r"covers .* alone.*: sha256sum graph\.onnx weights\.bin \| sha256sum"
    ):
        check_node(tmp_path, PAIR, NODE | {"sha256": sha256_of(str(path))})
    checked = check_node(tmp_path, PAIR, pinned)
    (tmp_path / "weights.bin").write_bytes((BIAS + 1).tobytes())
    assert problems_of(tmp_path, PAIR, pinned) == [("sha256_mismatch", "sha256")]
    with pytest.raises(InvalidEnsemble, match="sha256_mismatch"):
        KINDS["model", "onnx"].load(checked)


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for a bucket with the model in it; lists what was opened there."""
    (tmp_path / "bucket").mkdir()
    split_graph(tmp_path / "bucket", "parts/weights.bin")
    opened: list[str] = []
    real = FileSystems.open

    def open_there(path: str, *args: Any, **more: Any) -> Any:
        if not path.startswith("gs://"):
            return real(path, *args, **more)
        opened.append(path)
        return (tmp_path / path.removeprefix("gs://")).open("rb")

    monkeypatch.setattr(FileSystems, "open", open_there)
    return opened


@pytest.mark.parametrize("is_pinned", [True, False])
def test_weights_of_a_bucket_are_fetched(tmp_path: Path, bucket: list[str], is_pinned: bool) -> None:
    remote = NODE | {"uri": "gs://bucket/graph.onnx"}
    if is_pinned:
        remote["sha256"] = pin(tmp_path / "bucket", "graph.onnx", "parts/weights.bin")
    y = load_node(tmp_path, PAIR, remote)({"x": np.ones((1, 2), np.float32)})["y"]
    assert y.tolist() == [[11, 21]]
    assert bucket == ["gs://bucket/graph.onnx", "gs://bucket/parts/weights.bin"]


@pytest.mark.parametrize(
    ("location", "code"), [("../weights.bin", "load_failed"), ("none.bin", "load_failed")]
)
def test_weights_of_a_bucket_that_cannot_be_fetched(
    tmp_path: Path, bucket: list[str], location: str, code: str
) -> None:
    named(tmp_path / "bucket" / "graph.onnx", location)
    with pytest.raises(InvalidEnsemble, match=rf"\[{code}\] .*(outside of its folder|none\.bin)"):
        load_node(tmp_path, PAIR, NODE | {"uri": "gs://bucket/graph.onnx"})
    assert "gs://weights.bin" not in bucket
