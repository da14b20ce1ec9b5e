"""``apply: labels``: names for indices."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beam_ensembles.errors import EnsembleError, InvalidEnsemble, SomeFailed
from beam_ensembles.execution.files_digest import digest_of
from beam_ensembles.files.ensemble_files import Files
from beam_ensembles.graph import check_text
from beam_ensembles.registry import KINDS
from tests.support.media import objects
from tests.support.nodes import check_node, load_node, problems_of, types_of
from tests.support.web_server import content, web_server

FOLDER = Path("/")
PETS = ["cat", "dog", "N/A", "cat"]


def node_of(**more: Any) -> dict[str, Any]:
    return {"apply": "labels", "inputs": ["x"], "outputs": {"names": None}, **more}


@pytest.mark.parametrize(
    ("type_", "texts", "numbers"),
    [
        ("int64", "string", "int64"),
        ("array<int32>", "array<string>", "array<int64>"),
        ("array<int64>[3]", "array<string>", "array<int64>[3]"),
        ("array<int64>[2,3]", "array<array<string>>", "array<int64>[2,3]"),
        ("array<array<int64>>", "array<array<string>>", "array<array<int64>>"),
        ("array<array<int64>[2]>", "array<array<string>>", "array<array<int64>[2]>"),
    ],
)
def test_names_stand_where_the_indices_stood(type_: str, texts: str, numbers: str) -> None:
    assert types_of(FOLDER, {"x": type_}, node_of(labels=PETS)) == {"names": texts}
    assert types_of(FOLDER, {"x": type_}, node_of(labels=[5, 7])) == {"names": numbers}


@given(st.lists(st.lists(st.integers(0, 3), max_size=5), min_size=1, max_size=5))
def test_lists_of_any_depth_are_looked_up(rows: list[list[int]]) -> None:
    wanted = [[PETS[at] for at in row] for row in rows]
    found = load_node(FOLDER, {"x": "array<int64>"}, node_of(labels=PETS))({"x": objects(*rows)})["names"]
    assert found.tolist() == wanted
    nested = load_node(FOLDER, {"x": "array<array<int64>>"}, node_of(labels=PETS))({"x": objects(rows)})
    assert nested["names"].tolist() == [wanted]


def test_tensors_are_looked_up_at_once() -> None:
    x = np.random.default_rng(1).integers(0, 4, (5, 2, 3), dtype=np.int32)
    found = load_node(FOLDER, {"x": "array<int32>[2,3]"}, node_of(labels=PETS))({"x": x})["names"]
    assert found.shape == (5,)
    assert found.tolist() == np.array(PETS, object)[x].tolist()
    codes = load_node(FOLDER, {"x": "array<int32>[2,3]"}, node_of(labels=[9, 8, 7, 6]))({"x": x})["names"]
    np.testing.assert_array_equal(codes, 9 - x)
    assert codes.dtype == np.int64


@pytest.mark.parametrize(
    ("type_", "x", "good"),
    [
        ("int64", np.array([0, 4, -1, 1]), ["cat", "dog"]),
        ("array<int64>", objects([0], [1, 4], [-1], [1]), [["cat"], ["dog"]]),
        ("array<int64>[2]", np.array([[0, 1], [0, 9], [-1, 0], [1, 1]]), [["cat", "dog"], ["dog", "dog"]]),
    ],
)
def test_an_index_without_a_name_fails_its_row(type_: str, x: Any, good: list[Any]) -> None:
    with pytest.raises(SomeFailed) as caught:
        load_node(FOLDER, {"x": type_}, node_of(labels=PETS))({"x": x})
    assert caught.value.columns["names"].tolist() == good
    assert {at: error.code for at, error in caught.value.faults.items()} == {
        1: "unknown_label",
        2: "unknown_label",
    }
    assert "there are names for 0 to 3" in caught.value.faults[1].message


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pets.txt", "cat\ndog\nN/A\ncat\n"),
        ("dos.txt", "\ufeffcat\r\ndog \r\nN/A\r\ncat\r\n\r\n"),
        ("pets.json", json.dumps(PETS)),
    ],
)
def test_a_file_holds_names(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(content.encode())
    member = load_node(tmp_path, {"x": "int64"}, node_of(file=name))
    assert member({"x": np.arange(4)})["names"].tolist() == PETS


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", b"", "is empty"),
        ("a.txt", b"cat\n\ndog\n", "line 2 is empty"),
        ("a.txt", b"\xff\xfe\x00", "not UTF-8"),
        ("a.json", b"{", "not JSON"),
        ("a.json", b'["cat", 1]', "no JSON list of texts"),
        ("a.json", b"[]", "no JSON list of texts"),
    ],
)
def test_a_file_without_names_is_refused(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidEnsemble, match=said) as caught:
        check_node(tmp_path, {"x": "int64"}, node_of(file=name))
    assert [(one.code, one.path) for one in caught.value.problems] == [("bad_labels", "nodes.node.file")]


def test_a_file_that_changed_since_is_refused_by_the_worker(tmp_path: Path) -> None:
    (tmp_path / "pets.txt").write_text("cat\ndog\n")
    node = check_node(tmp_path, {"x": "int64"}, node_of(file="pets.txt"))
    (tmp_path / "pets.txt").write_text("")
    with pytest.raises(InvalidEnsemble, match="is empty"):
        KINDS["apply", "labels"].load(node)
    (tmp_path / "pets.txt").unlink()
    with pytest.raises((EnsembleError, OSError)):
        KINDS["apply", "labels"].load(node)


def test_another_file_makes_another_ensemble(tmp_path: Path) -> None:
    text = json.dumps(
        {"ensemble": "test", "inputs": {"x": "int64"}, "nodes": {"n": node_of(file="pets.txt")}}
    )
    digests = []
    for pets in ("cat\n", "cat\ndog\n"):
        (tmp_path / "pets.txt").write_text(pets)
        digests.append(digest_of(check_text(text, KINDS, Files(str(tmp_path), (str(tmp_path),)))))
    assert digests[0] != digests[1]


def test_a_file_of_the_web_is_read_by_the_worker() -> None:
    with web_server({"/pets.txt": content(b"cat\ndog\n")}) as server:
        nodes = {"node": node_of(file=f"{server.url}/pets.txt")}
        text = json.dumps({"ensemble": "test", "inputs": {"x": "int64"}, "nodes": nodes})
        (node,) = check_text(text, KINDS, Files("/", hosts=(server.url,))).nodes
        assert server.asked == []
        found = KINDS["apply", "labels"].load(node)({"x": np.array([1, 0])})["names"]
    assert found.tolist() == ["dog", "cat"]


def test_a_pinned_file_needs_no_trust(tmp_path: Path) -> None:
    (tmp_path / "pets.txt").write_text("cat\ndog\n")
    digest = hashlib.sha256(b"cat\ndog\n").hexdigest()
    node = node_of(file="pets.txt")
    wanted = [("untrusted_file", "file")]
    assert problems_of(tmp_path, {"x": "int64"}, node, trust=False) == wanted
    assert check_node(tmp_path, {"x": "int64"}, {**node, "sha256": digest}, trust=False).outputs
    other = {**node, "sha256": "0" * 64}
    assert problems_of(tmp_path, {"x": "int64"}, other) == [("sha256_mismatch", "sha256")]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({}, [("missing_key", "labels")]),
        ({"labels": ["a"], "file": "a.txt"}, [("bad_labels", "file")]),
        ({"labels": []}, [("bad_labels", "labels")]),
        ({"labels": ["a", 1]}, [("bad_labels", "labels")]),
        ({"labels": [1, True]}, [("bad_labels", "labels")]),
        ({"file": "lost.txt"}, [("missing_file", "file")]),
        ({"labels": ["a"], "inputs": ["d"]}, [("type_mismatch", "inputs[0]")]),
        ({"labels": ["a"], "inputs": ["n"]}, [("type_mismatch", "inputs[0]")]),
        ({"labels": ["a"], "outputs": {"names": "int64"}}, [("type_mismatch", "outputs.names")]),
    ],
)
def test_what_is_wrong(tmp_path: Path, change: dict[str, Any], wanted: list[tuple[str, str]]) -> None:
    types = {"x": "int64", "d": "array<double>", "n": "array<int64?>"}
    found = problems_of(tmp_path, types, {**node_of(outputs={"names": "string"}), **change})
    assert found == wanted
