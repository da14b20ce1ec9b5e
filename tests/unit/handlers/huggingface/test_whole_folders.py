"""A folder that lacks something, or holds what belongs to another model, is refused: transformers makes up the rest."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from beam_ensembles.errors import EnsembleError
from beam_ensembles.handlers.huggingface.folder_parts import check_parts
from beam_ensembles.handlers.huggingface.tasks import TASKS
from beam_ensembles.registry import KINDS
from tests.support.media import objects
from tests.support.nodes import check_node, load_node, problems_of

if TYPE_CHECKING:
    from tests.support.transformers_models import Models

TYPES = {
    "audio": "array<float>", "boxes": "array<array<int64>[4]>", "candidate_labels": "array<string>",
    "context": "string", "image": "bytes", "question": "string", "text": "string", "text_pair": "string",
    "words": "array<string>",
}  # fmt: skip
MODELS = {
    "audio-classification": "sounds",
    "automatic-speech-recognition": "wav2vec2",
    "document-question-answering": "layoutlm",
    "feature-extraction": "encoder",
    "image-classification": "vit",
    "image-text-to-text": "blip",
    "image-to-text": "blip",
    "object-detection": "yolos",
    "question-answering": "answers",
    "summarization": "t5",
    "text-classification": "classifier",
    "text-generation": "gpt2",
    "token-classification": "entities",
    "translation": "marian",
    "visual-question-answering": "vilt",
    "zero-shot-classification": "entailment",
    "zero-shot-image-classification": "clip",
}
TOKENIZERS = ("tokenizer.json", "vocab.json", "vocab.txt")
PROCESSORS = ("preprocessor_config.json", "processor_config.json")
WITHOUT_TOKENIZER = ("audio-classification", "image-classification", "object-detection")
WITH_PROCESSOR = tuple(
    name
    for name, task in TASKS.items()
    if any(port in task.inputs and task.inputs[port].required for port in ("image", "audio"))
)
MOOD: dict[str, Any] = {
    "model": "huggingface", "uri": "copy", "task": "text-classification", "device": "cpu",
    "inputs": ["text"], "outputs": {"label": None, "score": None},
}  # fmt: skip
TEXT = {"text": "string"}


def node_of(task: str) -> dict[str, Any]:
    ports = [*TASKS[task].inputs]
    return {
        "model": "huggingface", "uri": "copy", "task": task, "device": "cpu",
        "inputs": {port: port for port in ports}, "outputs": {"out": {"from": next(iter(TASKS[task].outputs))}},
    }  # fmt: skip


def copied(folder: Path, tmp_path: Path, change: Callable[[Path], None] = lambda _: None) -> Path:
    shutil.copytree(folder, tmp_path / "copy")
    change(tmp_path / "copy")
    return tmp_path


def edit(folder: Path, name: str, change: Callable[[dict[str, Any]], Any]) -> None:
    content = json.loads((folder / name).read_text())
    change(content)
    (folder / name).write_text(json.dumps(content))


def remove(*names: str) -> Callable[[Path], None]:
    return lambda folder: [(folder / name).unlink(missing_ok=True) for name in names] and None  # type: ignore[func-returns-value]


def test_every_task_has_a_model_here() -> None:
    assert sorted(MODELS) == sorted(TASKS)


@pytest.mark.parametrize("task", sorted(TASKS))
def test_a_folder_without_a_tokenizer_is_refused_before_the_run(
    models: Models, tmp_path: Path, task: str
) -> None:
    root = copied(models(MODELS[task]), tmp_path, remove(*TOKENIZERS))
    node = node_of(task)
    if task in WITHOUT_TOKENIZER:
        assert check_node(root, TYPES, node)
        return
    with pytest.raises(
        EnsembleError, match=r"\[bad_model_file\] nodes.node.uri: .* has no tokenizer .*save_pretrained"
    ):
        check_node(root, TYPES, node)


@pytest.mark.parametrize("task", WITH_PROCESSOR)
def test_a_folder_without_a_processor_is_refused_before_the_run(
    models: Models, tmp_path: Path, task: str
) -> None:
    root = copied(models(MODELS[task]), tmp_path, remove(*PROCESSORS))
    with pytest.raises(
        EnsembleError, match=r"\[bad_model_file\] nodes.node.uri: .* has no preprocessor_config.json"
    ):
        check_node(root, TYPES, node_of(task))


@pytest.mark.parametrize("task", sorted(set(TASKS) - set(WITHOUT_TOKENIZER)))
def test_a_tokenizer_without_words_is_refused_on_the_worker(
    models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    """As of a model of the hub, of which nothing is seen before."""
    monkeypatch.setattr("beam_ensembles.handlers.huggingface.model.check_parts", lambda *_: None)
    root = copied(models(MODELS[task]), tmp_path, remove(*TOKENIZERS))
    with pytest.raises(EnsembleError, match=r"knows no words|load_failed"):
        load_node(root, TYPES, node_of(task))


def _larger(folder: Path) -> None:
    def add(content: dict[str, Any]) -> None:
        words = content["model"]["vocab"]
        words["another"] = len(words)

    edit(folder, "tokenizer.json", add)


@pytest.mark.parametrize("seen", [True, False])
def test_a_tokenizer_of_another_model_is_refused(
    models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: bool
) -> None:
    if not seen:
        monkeypatch.setattr("beam_ensembles.handlers.huggingface.model.check_parts", lambda *_: None)
    root = copied(models("classifier"), tmp_path, _larger)
    with pytest.raises(
        EnsembleError,
        match=r"bad_model_file.* is that of another model: .* go up to 47, and the model knows 47",
    ):
        load_node(root, TEXT, MOOD)


def test_an_embedding_may_be_padded_and_a_much_larger_one_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("word\n" * 95)
    said: list[str] = []

    class Node:
        def problem(self, *said: str) -> None:
            pytest.fail(str(said))

        def warning(self, code: str, keys: str, message: str) -> None:
            said.append(message)

    check_parts(Node(), str(tmp_path), {"vocab_size": 100}, {"tokenizer"})  # type: ignore[arg-type]
    assert not said
    check_parts(Node(), str(tmp_path), {"text_config": {"vocab_size": 200}}, {"tokenizer"})  # type: ignore[arg-type]
    assert "has 95 words, but the model knows 200" in said[0]


def test_tokenizers_of_bytes_need_no_file(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    assert problems_of(tmp_path, TEXT, MOOD) == [("bad_model_file", "uri")]
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')
    assert check_node(tmp_path, TEXT, MOOD)


def test_a_vocabulary_without_merges_is_refused(models: Models, tmp_path: Path) -> None:
    import transformers

    folder = tmp_path / "copy"
    folder.mkdir()
    words = {letter: at for at, letter in enumerate([*"abcdefgh", "ab", "<|endoftext|>"])}
    config = transformers.GPT2Config(vocab_size=len(words), n_embd=16, n_layer=1, n_head=2, n_positions=64)
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(words))
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    node = {**MOOD, "task": "text-generation", "outputs": {"text_out": {"from": "text"}}}
    with pytest.raises(EnsembleError, match=r"has a vocabulary, but no merges.txt|load_failed"):
        load_node(tmp_path, TEXT, node)


def test_weights_that_transformers_would_make_up_are_named(models: Models, tmp_path: Path) -> None:
    import transformers

    def lose_the_head(folder: Path) -> None:
        transformers.BertModel.from_pretrained(folder).save_pretrained(folder)
        edit(
            folder,
            "config.json",
            lambda config: config.update(architectures=["BertForSequenceClassification"]),
        )

    root = copied(models("classifier"), tmp_path, lose_the_head)
    said = r"\[bad_model_file\] .* lack weights of BertForSequenceClassification: classifier.bias, classifier.weight"
    with pytest.raises(EnsembleError, match=said):
        load_node(root, TEXT, MOOD)
    node = {
        "model": "huggingface", "uri": "copy", "model_class": "transformers.BertForSequenceClassification",
        "inputs": {"input_ids": "ids"}, "outputs": {"logits": "array<float>[3]"}, "device": "cpu",
    }  # fmt: skip
    with pytest.raises(EnsembleError, match=said):
        load_node(root, {"ids": "array<int64>[4]"}, node)


def test_weights_of_layers_that_the_configuration_leaves_out_are_named(
    models: Models, tmp_path: Path
) -> None:
    def fewer(folder: Path) -> None:
        edit(folder, "config.json", lambda config: config.update(num_hidden_layers=1))

    root = copied(models("classifier"), tmp_path, fewer)
    with pytest.raises(
        EnsembleError,
        match=r"\[bad_model_file\] .*layers that its config.json leaves out: bert.encoder.layer.1",
    ):
        load_node(root, TEXT, MOOD)


@pytest.mark.parametrize("model", ["t5", "gpt2", "marian", "blip", "whisper", "mbart"])
def test_weights_that_are_tied_to_others_are_not_missed(models: Models, model: str) -> None:
    tasks = {"blip": "image-to-text", "gpt2": "text-generation", "t5": "summarization"}
    task = tasks.get(model, "automatic-speech-recognition" if model == "whisper" else "translation")
    assert load_node(models(model).parent, TYPES, {**node_of(task), "uri": model})


def test_what_no_answer_depends_on_may_be_missing(models: Models, tmp_path: Path) -> None:
    """A model for masked words has no pooler, and its vectors of tokens need none."""
    import transformers

    def lose_the_pooler(folder: Path) -> None:
        transformers.BertModel.from_pretrained(folder, add_pooling_layer=False).save_pretrained(folder)

    root = copied(models("encoder"), tmp_path, lose_the_pooler)
    vectors = {**MOOD, "task": "feature-extraction", "outputs": {"embedding": None}}
    assert load_node(root, TEXT, vectors)({"text": objects("the film")})["embedding"].shape == (1, 16)
    node = {
        "model": "huggingface", "uri": "copy", "model_class": "transformers.BertModel",
        "inputs": {"input_ids": "ids"}, "outputs": {"pooler_output": "array<float>[16]"}, "device": "cpu",
    }  # fmt: skip
    with pytest.raises(EnsembleError, match=r"lack weights of BertModel: pooler.dense.bias"):
        load_node(root, {"ids": "array<int64>[4]"}, node)


def test_classes_without_names_are_named_by_the_node(models: Models, tmp_path: Path) -> None:
    def forget(config: dict[str, Any]) -> None:
        names = config.pop("id2label")
        config.pop("label2id")
        config["num_labels"] = len(names)

    root = copied(models("classifier"), tmp_path, lambda folder: edit(folder, "config.json", forget))
    texts = {"text": objects("the film was good .", "awful")}
    own = load_node(models("classifier").parent, TEXT, {**MOOD, "uri": "classifier"})(texts)
    named = {**MOOD, "labels": ["negative", "neutral", "positive"]}
    found = load_node(root, TEXT, named)(texts)
    assert found["label"].tolist() == own["label"].tolist()
    np.testing.assert_array_equal(found["score"], own["score"])
    assert set(load_node(root, TEXT, MOOD)(texts)["label"]) <= {"LABEL_0", "LABEL_1", "LABEL_2"}
    with pytest.raises(EnsembleError, match=r"\[bad_labels\] nodes.node.labels: the model's classes are 3"):
        load_node(root, TEXT, {**MOOD, "labels": ["bad", "good"]})


def test_classes_without_names_are_warned_of(models: Models, tmp_path: Path) -> None:
    from beam_ensembles.files.ensemble_files import Files
    from beam_ensembles.graph import check_text

    def forget(config: dict[str, Any]) -> None:
        config["id2label"] = {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}

    root = copied(models("classifier"), tmp_path, lambda folder: edit(folder, "config.json", forget))
    text = json.dumps({"ensemble": "e", "inputs": TEXT, "nodes": {"node": MOOD}})
    (warning,) = check_text(text, KINDS, Files(str(root), (str(root),))).warnings
    assert (warning.code, warning.path) == ("bad_labels", "nodes.node.uri")
    assert "name them in order: 'labels'" in warning.message


def test_a_regression_has_no_classes_to_be_warned_of(models: Models, tmp_path: Path) -> None:
    from beam_ensembles.files.ensemble_files import Files
    from beam_ensembles.graph import check_text

    def is_regression(config: dict[str, Any]) -> None:
        config["id2label"] = {"0": "LABEL_0"}  # what save_pretrained writes of num_labels=1

    root = copied(models("classifier"), tmp_path, lambda folder: edit(folder, "config.json", is_regression))
    text = json.dumps({"ensemble": "e", "inputs": TEXT, "nodes": {"node": MOOD}})
    assert not check_text(text, KINDS, Files(str(root), (str(root),))).warnings


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "task", ["text-classification", "token-classification", "feature-extraction", "question-answering"]
)
def test_a_model_of_half_precision_answers_as_the_library_does(
    models: Models, tmp_path: Path, task: str, dtype: str
) -> None:
    """It stays what it was saved as, as transformers loads it; its answers become float32 or double."""
    import torch
    import transformers

    def halve(folder: Path) -> None:
        name = json.loads((folder / "config.json").read_text())["architectures"][0]
        getattr(transformers, name).from_pretrained(folder, dtype=getattr(torch, dtype)).save_pretrained(
            folder
        )

    root = copied(models(MODELS[task]), tmp_path, halve)
    output = {
        "text-classification": "probabilities",
        "token-classification": "scores",
        "question-answering": "score",
    }
    name = output.get(task, "embedding")
    types = {"question": "string", "context": "string"} if task.startswith("question") else TEXT
    node = {**MOOD, "task": task, "inputs": {port: port for port in types}, "outputs": {name: None}}
    rows = {port: objects("the film was good .") for port in types}
    found = np.asarray(load_node(root, types, node)(rows)[name][0], dtype=np.float64)
    tokenizer = transformers.AutoTokenizer.from_pretrained(root / "copy")
    given = tokenizer(*["the film was good ."] * len(types), return_tensors="pt")
    loaded = getattr(
        transformers, json.loads((root / "copy" / "config.json").read_text())["architectures"][0]
    )
    model = loaded.from_pretrained(root / "copy")
    assert str(model.dtype) == f"torch.{dtype}"
    with torch.no_grad():
        answer = model(**given)
    if task == "feature-extraction":
        wanted = answer.last_hidden_state[0].float().mean(dim=0)
    elif task == "question-answering":
        assert 0 < found < 1
        return
    else:
        odds = answer.logits[0].float().softmax(-1)
        labels = odds[1:-1].max(-1)
        wanted = odds if task == "text-classification" else labels.values[labels.indices > 0]
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-5)


def test_an_adapter_that_nothing_would_apply_is_refused(models: Models, tmp_path: Path) -> None:
    root = copied(
        models("classifier"),
        tmp_path,
        lambda folder: (folder / "adapter_config.json").write_text("{}") and None,
    )
    with pytest.raises(EnsembleError, match=r"\[bad_model_file\] .* has an adapter .*needs PEFT"):
        load_node(root, TEXT, MOOD)


def test_classes_are_looked_up_in_one_list(models: Models, tmp_path: Path) -> None:
    """A zero-shot task takes the last class for 'entailment' where label2id does not have it."""

    def mix(config: dict[str, Any]) -> None:
        config["id2label"] = {"0": "entailment", "1": "neutral", "2": "contradiction"}
        config["label2id"] = {"a": 0, "b": 1, "c": 2}

    node = {
        **MOOD,
        "task": "zero-shot-classification",
        "inference_args": {"candidate_labels": ["sport", "a film"]},
    }
    root = copied(models("entailment"), tmp_path, lambda folder: edit(folder, "config.json", mix))
    (tmp_path / "right").mkdir()
    right = copied(models("entailment"), tmp_path / "right", lambda folder: edit(
        folder, "config.json", lambda config: config.update(
            id2label={"0": "entailment", "1": "neutral", "2": "contradiction"},
            label2id={"entailment": 0, "neutral": 1, "contradiction": 2},
        )))  # fmt: skip
    texts = {"text": objects("the film was good .", "awful")}
    found, wanted = (load_node(place, TEXT, node)(texts) for place in (root, right))
    np.testing.assert_array_equal(found["score"], wanted["score"])


@pytest.mark.parametrize(
    ("change", "warned"),
    [({}, True), ({"seed": 7}, False), ({"inference_args": {"do_sample": False}}, False)],
)
def test_a_model_that_draws_by_itself_is_warned_of(
    models: Models, tmp_path: Path, change: dict[str, Any], warned: bool
) -> None:
    from beam_ensembles.files.ensemble_files import Files
    from beam_ensembles.graph import check_text

    def draw(folder: Path) -> None:
        edit(folder, "generation_config.json", lambda config: config.update(do_sample=True))

    root = copied(models("t5"), tmp_path, draw)
    node = {**MOOD, "task": "summarization", "outputs": {"short": {"from": "text"}}, **change}
    text = json.dumps({"ensemble": "e", "inputs": TEXT, "nodes": {"node": node}})
    warnings = check_text(text, KINDS, Files(str(root), (str(root),))).warnings
    assert [warning.path for warning in warnings] == (["nodes.node.seed"] if warned else [])


def test_a_pipe_in_a_folder_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "config.json").write_text('{"vocab_size": 3}')
    (folder / "model.safetensors").write_bytes(b"")
    for name in (
        "tokenizer.json",
        "tokenizer_config.json",
        "processor_config.json",
        "generation_config.json",
    ):
        os.mkfifo(folder / name)
    assert check_node(tmp_path, TEXT, MOOD)
