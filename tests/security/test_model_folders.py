"""Links, pipes and settings of model folders and files that would have other files read, and their content told."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import h5py
import pytest

from beam_ensembles.errors import InvalidEnsemble, ModelFormatError, NodeError
from beam_ensembles.handlers.huggingface import generation, hub
from beam_ensembles.handlers.huggingface.folder_checks import reaches_out
from beam_ensembles.handlers.huggingface.loaded import Loaded
from beam_ensembles.handlers.tensorflow.weights import check_weights
from tests.support.nodes import check_node

TEXT: Final = {"text": "string"}
MOOD: Final[dict[str, Any]] = {
    "model": "huggingface",
    "uri": "mood",
    "task": "text-classification",
    "inputs": ["text"],
    "outputs": {"label": None},
}
SECRET: Final = "nobody-may-learn-this"


@pytest.fixture
def mood(tmp_path: Path) -> Path:
    """A folder that transformers could load, as far as its checks look, beside a secret."""
    (tmp_path / "secret").write_text(json.dumps({"password": SECRET, "id2label": {"0": SECRET}}))
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "special_tokens_map.json").write_text(json.dumps({"password": SECRET}))
    folder = tmp_path / "mood"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    (folder / "vocab.txt").write_text("a\n")
    return folder


def _link(name: str, target: str = "../secret") -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return make


def _nested(name: str, content: Any) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))

    return make


def _pipe(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return make


def _chain(folder: Path) -> None:
    """A link within the folder to a link that leads out of it."""
    _link("a")(folder)
    _link("vocab.txt", "a")(folder)


ATTACKS: Final[dict[str, Callable[[Path], None]]] = {
    "configuration": _link("config.json"),
    "tokens": _link("special_tokens_map.json"),
    "vocabulary": _link("vocab.txt"),
    "absolute": lambda folder: _link("vocab.txt", str(folder.parent / "secret"))(folder),
    "chain": _chain,
    "folder": _link("qformer_tokenizer", "../secrets"),
    "name that looks like a cache's": _link("vocab.txt", "../../blobs/../secret"),
    "nested tokens": _nested("qformer_tokenizer/special_tokens_map.json", {"vocab_file": "/etc/passwd"}),
    "nested configuration": _nested("a/b/tokenizer_config.json", {"gguf_file": "/etc/passwd"}),
    "tokenizer of another folder": _nested(
        "tokenizer_config.json", {"fast_tokenizer_files": ["../secrets/tokenizer.4.0.0.json"]}
    ),
    "pipe": _pipe("config.json"),
    "pipe of a vocabulary": _pipe("vocab.txt"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("attack", list(ATTACKS))
@pytest.mark.parametrize("kind", ["huggingface", "processor"])
def test_nothing_outside_of_the_folder_is_read_or_told(kind: str, attack: str, mood: Path) -> None:
    ATTACKS[attack](mood)
    processor = {
        "apply": "processor",
        "uri": "mood",
        "inputs": {"text": "text"},
        "outputs": {"input_ids": None},
    }
    node = MOOD if kind == "huggingface" else processor
    with pytest.raises(InvalidEnsemble) as refusal:
        check_node(mood.parent, TEXT, node, trust=False)
    assert [(one.code, one.path) for one in refusal.value.problems] == [("untrusted_file", "nodes.node.uri")]
    assert SECRET not in str(refusal.value)


def test_a_worker_refuses_links_that_were_made_after_the_check(mood: Path) -> None:
    checked = check_node(mood.parent, TEXT, MOOD, trust=False)
    ATTACKS["vocabulary"](mood)
    with (
        pytest.raises(InvalidEnsemble, match=r"\[untrusted_file\].*'vocab.txt'.*leads out of the folder"),
        hub.opened(dataclasses.replace(checked, is_trusted=False)),
    ):
        pass


def test_nothing_is_told_of_a_saved_model_that_a_link_leads_to(tmp_path: Path) -> None:
    """The signatures of another one were in the message about a signature that is not there."""

    def of(number: int, data: bytes) -> bytes:
        return bytes([number << 3 | 2, len(data)]) + data

    graph = of(1, of(4, b"serve")) + of(5, of(1, SECRET.encode()) + of(2, b""))
    (tmp_path / "other.pb").write_bytes(of(2, graph))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "saved_model.pb").symlink_to("../other.pb")
    node = {
        "model": "tensorflow",
        "uri": "model",
        "signature": "x",
        "inputs": ["text"],
        "outputs": {"y": "float"},
    }
    with pytest.raises(InvalidEnsemble) as refusal:
        check_node(tmp_path, TEXT, node, trust=False)
    assert [(one.code, one.path) for one in refusal.value.problems] == [("untrusted_file", "nodes.node.uri")]
    assert SECRET not in str(refusal.value)


def test_links_as_the_hubs_cache_makes_them_stay_inside(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "models--a--b" / "blobs", tmp_path / "models--a--b" / "snapshots" / "0"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    (blobs / "1").write_text("{}")
    (snapshot / "config.json").symlink_to("../../blobs/1")
    (snapshot / "same.json").symlink_to("config.json")
    assert reaches_out(str(snapshot)) == ()
    (tmp_path / "secret").write_text("{}")
    (blobs / "2").symlink_to(tmp_path / "secret")
    (snapshot / "vocab.txt").symlink_to("../../blobs/2")
    assert len(reaches_out(str(snapshot))) == 1


def test_a_folder_of_very_many_files_is_not_searched(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"abcdefghijklmnopqrstuvwxyz")
    deep.mkdir(parents=True)
    (found,) = reaches_out(str(tmp_path))
    assert "deeper than" in found


@pytest.mark.parametrize("name", ["w.weights.h5", "w.h5"])
def test_an_archive_behind_weights_does_not_hide_them(name: str, mood: Path) -> None:
    """HDF5 is read from the start of a file, and zip archives from its end: Keras goes by the name."""
    path = mood.parent / name
    with h5py.File(path, "w") as file:
        file.create_dataset("vars/0", (1,), "<f8", external=[(str(mood.parent / "secret"), 0, 8)])
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("x", "y")
    with pytest.raises(ModelFormatError, match="are in another file"):
        check_weights(str(path))


@pytest.mark.parametrize(
    "said",
    [
        {"custom_generate": "/models/mood", "trust_remote_code": True},
        {"num_beams": 2, "assistant_model": "/models/other"},
        {"generation_config": {"max_new_tokens": 1}},
    ],
)
@pytest.mark.parametrize(
    ("call", "task"),
    [(generation.summarize, "summarization"), (generation.translate, "translation_None_to_None")],
)
def test_a_configuration_says_no_more_to_generate_than_a_node_may(
    call: Callable[..., Any], task: str, said: dict[str, Any]
) -> None:
    """The first had ``generate`` run ``custom_generate/generate.py`` of a folder that nobody trusts."""
    model = SimpleNamespace(config=SimpleNamespace(task_specific_params={task: said}))
    with pytest.raises(NodeError, match="task_specific_params"):
        call(Loaded(model, None), {"text": ["a"]}, {}, 1)
